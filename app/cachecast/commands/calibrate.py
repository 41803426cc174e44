"""`cachecast calibrate`: step times of an engine on this machine, as a latency model."""

import datetime
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cachecast.engine_spec import engine_folder
from cachecast.output import notes, print_json
from cachecast.progress import progress
from cachecast.whole_file import check_place, write_whole
from cachecast_datasets.errors import BadInput
from cachecast_datasets.importing import Progress
from cachecast_replay.calibration.grid import Limits, scenes
from cachecast_replay.comparison.verdict import STEP_MEAN_PCT, STEP_P90_PCT
from cachecast_replay.engine.opening import open_engine
from cachecast_replay.engine.pages import return_free_memory
from cachecast_replay.machine import machine_name
from cachecast_replay.measuring import Stopwatch
from cachecast_replay.warming import warm_up
from cachecast_sim.latency.fitted_file import FORMAT, VERSION, FittedFile, fitted_toml

if TYPE_CHECKING:  # scipy comes with the engine extra
    from cachecast_replay.calibration.fit import Fit
    from cachecast_replay.calibration.measure import Sample

_SCENE_TOKENS = 256  # that a decoding request of a scene may put out
_BLOCK_TOKENS = 16


@click.command("calibrate", short_help="Time the steps of an engine: a latency model.")
@click.option("--engine", "spec", required=True, metavar="torch:DIR", help="A model's folder.")
@click.option("--device", default="cpu", show_default=True, help="cpu or cuda.")
@click.option("--threads", type=click.IntRange(min=1), default=1, show_default=True)
@click.option("--normalise", is_flag=True, help="Scale each step by a probe beside it.")
@click.option("--max-new-tokens", type=click.IntRange(8, 65536), default=512, show_default=True,
    help="Largest step, as engine.max_batch_tokens.")  # fmt: skip
@click.option("--max-sequences", type=click.IntRange(1, 1024), default=16, show_default=True)
@click.option("--max-context", type=click.IntRange(64, 1 << 20), default=1024, show_default=True)
@click.option("--rounds", type=click.IntRange(1, 20), default=3, show_default=True)
@click.option("--seconds", type=click.FloatRange(1, 3600), default=110.0, show_default=True,
    help="No new scene is begun after that, once each was measured.")  # fmt: skip
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("-o", "--out", required=True, type=click.Path(path_type=Path), metavar="FILE")
@click.option("--force", is_flag=True, help="Replace an existing file.")
@click.option("--json", "as_json", is_flag=True, help="The result as JSON.")
def command(
    spec: str, device: str, threads: int, normalise: bool, max_new_tokens: int,
    max_sequences: int, max_context: int, rounds: int, seconds: float, seed: int, out: Path,
    force: bool, as_json: bool,
) -> None:  # fmt: skip
    """Time an engine's steps over a designed grid and fit a latency model to them.

    New tokens, context and sequences are varied far apart and mixed, in shuffled rounds; every
    fifth kind of step is held out and judged. Use it with latency.kind=fitted, latency.file=FILE.

    Example:  cachecast calibrate --engine torch:model --max-new-tokens 64 -o latency.toml
    """
    if not math.isfinite(seconds):
        raise BadInput(f"--seconds {seconds}: expected a finite number")
    check_place(out, force)
    bench = _Bench(
        engine_folder(spec), device, threads, normalise,
        Limits(max_new_tokens, max_sequences, max_context),
    )  # fmt: skip
    from cachecast_replay.calibration.fit import fit  # scipy, which only the engine extra has

    with progress() as report:
        found = fit(bench.samples(rounds, seconds, seed, report))
    file = bench.file(found, spec)
    try:
        write_whole(out, fitted_toml(file).encode())
    except OSError as problem:
        raise BadInput(f"{out}: cannot be written: {problem.strerror}") from None
    if as_json:
        print_json(file)
        return
    _print(found)
    notes.print(
        f"written to {out}; use it with: cachecast simulate LOG --fleet FILE "
        f"--set latency.kind=fitted --set latency.file={out}",
        soft_wrap=True,
    )


@dataclass(slots=True)
class _Bench:
    """What is calibrated, and how far."""

    folder: Path
    device: str
    threads: int
    normalise: bool
    limits: Limits
    attention: str = ""  # of the engine that was opened

    @property
    def step_tokens(self) -> int:
        return self.limits.new_tokens + self.limits.sequences

    @property
    def room_tokens(self) -> int:
        """Every decoding sequence, every prefix and every prompt at once, and some room."""
        limits = self.limits
        sequences = limits.sequences * (limits.context_tokens + _SCENE_TOKENS)
        return sequences + 8 * limits.context_tokens + 4 * limits.new_tokens

    def samples(
        self, rounds: int, seconds: float, seed: int, report: Progress
    ) -> "Sequence[Sample]":
        """The measured steps; the bar counts scenes."""
        from cachecast_replay.calibration.measure import GridRun, in_rounds

        grid = scenes(self.limits, seed)
        done = itertools.count(1)

        def fresh(number: int) -> GridRun:
            """An engine and a probe in memory of their own; the kernels of a round stay."""
            return_free_memory()
            engine = self._engine()
            self.attention = engine.attention_name
            from cachecast_replay.probe import ModelProbe  # with torch, which is there by now

            probe = ModelProbe(self.device, self.threads) if self.normalise else None
            vocabulary = engine.shape.vocab_size
            if number == 0:
                report("warming up", 0, 1)
                warm_up(engine, vocabulary, self.step_tokens, self.room_tokens)
            engine.use_large_pages()
            return GridRun(
                engine, vocabulary, Stopwatch(probe), self.step_tokens, seed + number,
                lambda: report("calibrating", next(done), rounds * len(grid)),
            )  # fmt: skip

        return in_rounds(fresh, grid, rounds, seconds)

    def _engine(self) -> Any:
        return open_engine(
            self.folder, blocks=-(-2 * self.room_tokens // _BLOCK_TOKENS) + 1,
            block_tokens=_BLOCK_TOKENS, max_batch_tokens=self.step_tokens,
            max_seqs=self.limits.sequences + 16, device=self.device, threads=self.threads,
        )  # fmt: skip

    def file(self, found: "Fit", spec: str) -> FittedFile:
        """The latency model with where, when and on what it was measured."""
        threads = f"{self.threads} thread{'s' if self.threads > 1 else ''}"
        return FittedFile(
            format=FORMAT, version=VERSION,
            engine=f"torch {version('torch')}, {self.device}, attention {self.attention}",
            machine=f"{machine_name(self.device)}, {threads} used",
            model=f"{self.folder.resolve().name} ({spec})",
            created=datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d"),
            normalised=self.normalise, steps=found.steps, coefficients_s=found.coefficients,
            valid=found.valid, held_out=found.held_out,
        )  # fmt: skip


def _print(found: "Fit") -> None:
    held, valid = found.held_out, found.valid
    click.echo(
        f"{found.steps:,} steps measured; on {held.steps} kinds of step that were held out the "
        f"model is off by {held.mean_pct:.1f} % on average, {held.p90_pct:.1f} % at p90"
    )
    click.echo(
        f"it holds for steps of up to {valid.new_tokens[1]:,} new tokens, with up to "
        f"{valid.decode_requests[1]:,} requests that decode"
    )
    if held.mean_pct > STEP_MEAN_PCT or held.p90_pct > STEP_P90_PCT:
        notes.print(
            f"more than {STEP_MEAN_PCT:g} % on average or {STEP_P90_PCT:g} % at p90: the machine "
            "was busy or the time short; calibrate again, with more --seconds",
            soft_wrap=True,
        )
