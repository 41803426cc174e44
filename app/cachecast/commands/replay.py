"""`cachecast replay`: the same requests through a real engine."""

import contextlib
import tempfile
from fractions import Fraction
from importlib.metadata import version
from pathlib import Path
from typing import Any

import click

from cachecast.endpoint_options import chosen, endpoint_options
from cachecast.engine_spec import engine_folder, engine_of
from cachecast.fleet_file import FilesBeside, load_fleet
from cachecast.fleet_report import row_json
from cachecast.fleet_writer import MeasuredSink
from cachecast.output import notes, print_json, print_json_line
from cachecast.progress import progress
from cachecast.replay_table import measured_json, print_measured
from cachecast.replaying import COLUMNS, turns_of
from cachecast.results import RunWriter
from cachecast.results.writer import hash_inputs
from cachecast.step_writer import StepSink
from cachecast_datasets.errors import BadInput
from cachecast_datasets.importing import open_or_import
from cachecast_replay.clocks import RealClock, VirtualClock
from cachecast_replay.machine import machine_name
from cachecast_replay.measuring import Stopwatch
from cachecast_replay.prompts import PromptMaker
from cachecast_replay.runner import Replay, Step
from cachecast_replay.warming import warm_up
from cachecast_sim.fleet.summary import FleetTotals


@click.command("replay")
@click.argument("logs", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="LOG...")
@click.option("--engine", "spec", metavar="torch:DIR", help="A model's folder.")
@click.option(
    "--fleet", "fleet_path", type=click.Path(path_type=Path), metavar="FILE",
    help="The engine's limits (its [engine] table; [latency] is ignored).",
)  # fmt: skip
@click.option("--set", "overrides", multiple=True, metavar="TABLE.FIELD=VALUE")
@click.option("--clock", type=click.Choice(["virtual", "real"]), default="virtual",
    show_default=True, help="Time that only steps move, or the wall's.")  # fmt: skip
@click.option("--speed-up", type=click.FloatRange(min=0.001), default=1.0,
    help="Real clock: arrivals come so much faster.")  # fmt: skip
@click.option("--normalise", is_flag=True, help="Scale each step by a probe beside it.")
@click.option("--device", default="cpu", show_default=True, help="cpu or cuda.")
@click.option("--threads", type=click.IntRange(min=1), default=1, show_default=True)
@endpoint_options
@click.option("-o", "--out", type=click.Path(path_type=Path), metavar="RUN", help="Keep the run.")
@click.option("--force", is_flag=True, help="Replace an existing run.")
@click.option("--per-request", is_flag=True, help="One line per request.")
@click.option("--json", "as_json", is_flag=True, help="The machine-readable contract.")
def command(
    logs: tuple[Path, ...],
    spec: str | None,
    fleet_path: Path | None,
    overrides: tuple[str, ...],
    clock: str,
    speed_up: float,
    normalise: bool,
    device: str,
    threads: int,
    out: Path | None,
    force: bool,
    per_request: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Run LOG through a real engine with a KV cache, and time it.

    Either a torch engine of our own (--engine, --fleet) or any OpenAI-compatible server
    (--endpoint). Hash-only logs get fixed random tokens that share what the log shares. Ctrl-C ends
    the replay and keeps what was measured so far.

    \b
    Examples:  cachecast replay LOG --engine torch:model --fleet fleet.toml --set fleet.servers=1
               cachecast replay LOG --endpoint http://127.0.0.1:8000/v1 -o measured
    """
    asked = chosen(click.get_current_context(), spec, options)
    if asked is not None:
        from cachecast.commands.replay_endpoint import replay_endpoint

        replay_endpoint(logs, asked, speed_up, out, force, per_request, as_json)
        return
    if spec is None or fleet_path is None:
        raise BadInput("--engine needs --fleet FILE, which states the engine's limits")
    if clock == "virtual" and speed_up != 1.0:
        raise BadInput("--speed-up goes with --clock real; a virtual clock skips idle time anyway")
    config = load_fleet(fleet_path, overrides)
    folder = engine_folder(spec)
    with contextlib.ExitStack() as stack:
        tmp = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="cachecast-")))
        report = stack.enter_context(progress())
        trace = open_or_import(list(logs), tmp_dir=tmp, progress=report)
        engine = engine_of(folder, config, FilesBeside(fleet_path), device, threads)
        limits = config.engine
        report("warming up", 0, 1)
        probe = _probe(device) if normalise else None
        warm_up(
            engine, engine.shape.vocab_size, limits.max_batch_tokens,
            (engine.manager.usable_blocks - 1) * limits.block_tokens,
        )  # fmt: skip
        large_pages_bytes = engine.use_large_pages()
        writer = stack.enter_context(RunWriter(out, force)) if out is not None else None
        jobs_sink = None if writer is None else MeasuredSink(writer, spec)
        steps_sink = None if writer is None else StepSink(writer)
        totals, rows = FleetTotals(), []
        replay = Replay(
            engine,
            VirtualClock() if clock == "virtual" else RealClock(Fraction(str(speed_up))),
            Stopwatch(probe),
            lambda step: _keep(steps_sink, step),
        )
        turns = turns_of(
            trace.requests(columns=COLUMNS), PromptMaker(engine.shape.vocab_size),
            ignore_output=config.engine.ignore_output, speed_up=speed_up,
        )  # fmt: skip
        closed = config.fleet.loop == "closed"
        partial = False
        try:
            for job in replay.closed_loop(turns) if closed else replay.open_loop(turns):
                totals.add(job)
                report("replaying", totals.requests, trace.rows)
                if jobs_sink is not None:
                    jobs_sink(job)
                if per_request:
                    rows.append(row_json(job))
        except KeyboardInterrupt:
            partial = True
        if not totals.requests:
            raise BadInput("no request was replayed: interrupted, or the log has no prompt sizes")
        meta: dict[str, Any] = {
            "command": "replay",
            "input_hash": hash_inputs(logs),
            "engine": spec,
            "clock": clock,
            "normalised": normalise,
            "partial": partial,
            "machine": machine_name(),
            "device": device,
            "threads": threads,
            "large_pages_bytes": large_pages_bytes,
            "torch": version("torch"),
            "fleet": measured_json(totals, replay.steps),
        }
        if writer is not None and jobs_sink is not None and steps_sink is not None:
            jobs_sink.flush()
            steps_sink.flush()
            writer.finish(meta)
    if partial:
        notes.print(f"interrupted after {totals.requests:,} requests; what was measured is kept")
    if per_request:
        for row in rows:
            print_json_line(row)
    elif as_json:
        print_json({**meta, **meta.pop("fleet")})
    else:
        print_measured(totals, meta)
        if out is not None:
            notes.print(f"written to {out}; compare it with: cachecast compare PREDICTED {out}")


def _probe(device: str) -> Any:
    import torch

    from cachecast_replay.probe import MatrixProbe

    return MatrixProbe(torch.device(device))


def _keep(sink: StepSink | None, step: Step) -> None:
    if sink is not None:
        counts = (
            step.prefill_tokens, step.prefill_requests, step.prefill_pairs, step.decode_requests,
            step.decode_context,
        )  # fmt: skip
        sink.add(
            counts, step.time.duration_ns, start_ns=step.start_ns, raw_ns=step.time.raw_ns,
            probe_ns=step.time.probe_ns, foreign_cpu=step.time.foreign_cpu,
        )  # fmt: skip
