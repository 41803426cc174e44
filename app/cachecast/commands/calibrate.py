"""`cachecast calibrate`: step times of an engine on this machine, as a latency model."""

import datetime
import itertools
import math
import tempfile
from importlib.metadata import version
from pathlib import Path

import click

from cachecast.engine_spec import engine_folder
from cachecast.output import notes, print_json
from cachecast.progress import progress
from cachecast_datasets.errors import BadInput
from cachecast_replay.calibration.grid import Limits, scenes
from cachecast_replay.engine.opening import open_engine
from cachecast_replay.engine.pages import return_free_memory
from cachecast_replay.machine import machine_name
from cachecast_replay.measuring import Stopwatch
from cachecast_replay.warming import warm_up
from cachecast_sim.latency.fitted_file import FORMAT, VERSION, FittedFile, fitted_toml

_SCENE_TOKENS = 256  # that a decoding request of a scene may put out


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
    if out.exists() and not force:
        raise BadInput(f"{out}: exists already; give another name, or --force")
    if not out.resolve().parent.is_dir():
        raise BadInput(f"{out}: the folder {out.resolve().parent} does not exist; make it first")
    try:
        with tempfile.TemporaryFile(dir=out.resolve().parent):
            pass  # before the minutes of work
    except OSError as problem:
        raise BadInput(f"{out}: cannot be written: {problem.strerror}") from None
    if out.is_dir():
        raise BadInput(f"{out}: is a folder, expected the name of a file")
    folder = engine_folder(spec)
    limits = Limits(max_new_tokens, max_sequences, max_context)
    block_tokens = 16
    # every decoding sequence, every prefix and every prompt at once, and some room
    room = max_sequences * (max_context + _SCENE_TOKENS) + 8 * max_context + 4 * max_new_tokens
    from cachecast_replay.calibration.fit import fit  # scipy, which only the engine extra has
    from cachecast_replay.calibration.measure import GridRun, in_rounds

    grid = scenes(limits, seed)
    step_tokens = max_new_tokens + max_sequences
    attention = ""
    with progress() as report:
        done = itertools.count(1)

        def fresh(number: int) -> GridRun:
            """An engine and a probe in memory of their own; the kernels of a round stay."""
            nonlocal attention
            return_free_memory()
            engine = open_engine(
                folder, blocks=-(-2 * room // block_tokens) + 1, block_tokens=block_tokens,
                max_batch_tokens=step_tokens, max_seqs=max_sequences + 16,
                device=device, threads=threads,
            )  # fmt: skip
            attention = engine.attention_name
            from cachecast_replay.probe import ModelProbe  # with torch, which is there by now

            probe = ModelProbe(device, threads) if normalise else None
            if number == 0:
                warm_up(engine, engine.shape.vocab_size, step_tokens, room)
            engine.use_large_pages()
            return GridRun(
                engine, engine.shape.vocab_size, Stopwatch(probe), step_tokens, seed + number,
                lambda: report("calibrating", next(done), rounds * len(grid)),
            )  # fmt: skip

        samples = in_rounds(fresh, grid, rounds, seconds)
    found = fit(samples)
    file = FittedFile(
        format=FORMAT, version=VERSION,
        engine=f"torch {version('torch')}, {device}, attention {attention}",
        machine=f"{machine_name(device)}, {threads} thread{'s' if threads > 1 else ''} used",
        model=f"{folder.resolve().name} ({spec})",
        created=datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d"),
        normalised=normalise, steps=found.steps, coefficients_s=found.coefficients,
        valid=found.valid, held_out=found.held_out,
    )  # fmt: skip
    out.write_text(fitted_toml(file), encoding="utf-8")
    if as_json:
        print_json(file)
        return
    held = found.held_out
    click.echo(
        f"{found.steps:,} steps measured; on {held.steps} kinds of step that were held out the "
        f"model is off by {held.mean_pct:.1f} % on average, {held.p90_pct:.1f} % at p90"
    )
    notes.print(
        f"written to {out}; use it with: cachecast simulate LOG --fleet FILE "
        f"--set latency.kind=fitted --set latency.file={out}",
        soft_wrap=True,
    )
