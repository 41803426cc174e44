"""`cachecast calibrate`: step times of an engine on this machine, as a latency model."""

import math
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cachecast.engine_spec import engine_folder
from cachecast.output import notes, print_json
from cachecast.progress import progress
from cachecast.whole_file import check_place, write_whole
from cachecast_datasets.errors import BadInput
from cachecast_replay.calibration.bench import Bench
from cachecast_replay.calibration.grid import Limits
from cachecast_replay.comparison.verdict import ROUNDS_PCT, STEP_MEAN_PCT, STEP_P90_PCT
from cachecast_sim.latency.fitted_file import fitted_toml

if TYPE_CHECKING:  # scipy comes with the engine extra
    from cachecast_replay.calibration.fit import Fit


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
    bench = Bench(
        engine_folder(spec), device, threads, normalise,
        Limits(max_new_tokens, max_sequences, max_context),
    )  # fmt: skip
    try:
        from cachecast_replay.calibration.fit import fit
    except ModuleNotFoundError as problem:
        if (problem.name or "").partition(".")[0] != "scipy":
            raise
        raise BadInput("calibrate needs scipy and torch: pip install 'cachecast[engine]'") from None

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
    levels = found.round_levels_pct
    if levels and max(levels) - min(levels) > ROUNDS_PCT:
        notes.print(
            f"the rounds are {max(levels) - min(levels):.1f} % apart, expected at most "
            f"{ROUNDS_PCT:g} %: the machine was restless, and a prediction at high load would be "
            "off by several times that; calibrate again",
            soft_wrap=True,
        )
    if held.mean_pct > STEP_MEAN_PCT or held.p90_pct > STEP_P90_PCT:
        notes.print(
            f"more than {STEP_MEAN_PCT:g} % on average or {STEP_P90_PCT:g} % at p90: the machine "
            "was busy or the time short; calibrate again, with more --seconds",
            soft_wrap=True,
        )
