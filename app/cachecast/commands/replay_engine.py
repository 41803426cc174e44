"""`cachecast replay --engine`: through our own engine, from the options to what is printed."""

import contextlib
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from importlib.metadata import version
from pathlib import Path
from typing import Any

from cachecast.engine_spec import engine_folder, engine_of
from cachecast.fleet_file import FilesBeside, load_fleet
from cachecast.fleet_report import row_json
from cachecast.fleet_writer import MeasuredSink
from cachecast.output import print_json, print_json_line
from cachecast.progress import progress
from cachecast.replay_output import ReplayOutput, open_log
from cachecast.replay_table import measured_json, print_measured
from cachecast.replaying import COLUMNS, turns_of
from cachecast.results import RunWriter
from cachecast.results.writer import hash_inputs
from cachecast.saving_chart import Point
from cachecast.step_writer import StepSink
from cachecast_datasets.errors import BadInput
from cachecast_datasets.importing import Progress
from cachecast_replay.clocks import RealClock, VirtualClock
from cachecast_replay.engine.shape import read_shape
from cachecast_replay.machine import machine_name
from cachecast_replay.measuring import Stopwatch
from cachecast_replay.prompts import PromptMaker
from cachecast_replay.runner import Replay, Step
from cachecast_replay.warming import warm_up
from cachecast_sim.fleet.config import FleetConfig
from cachecast_sim.fleet.job import Job
from cachecast_sim.fleet.summary import FleetTotals


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """What was asked of the engine; as the options say."""

    spec: str
    fleet: Path
    overrides: tuple[str, ...]
    clock: str
    speed_up: float
    normalise: bool
    device: str
    threads: int


@dataclass(slots=True)
class _Kept:
    """What is kept of the jobs that have ended."""

    totals: FleetTotals = field(default_factory=FleetTotals)
    preemptions: int = 0
    rows: list[dict[str, Any]] = field(default_factory=list)
    points: list[Point] = field(default_factory=list)

    def add(self, job: Job, wanted: ReplayOutput) -> None:
        self.totals.add(job)
        self.preemptions += job.preemptions
        if wanted.per_request:
            self.rows.append(row_json(job))
        if wanted.chart is not None and job.first_token_ns is not None:
            ttft_s = (job.first_token_ns - job.arrival_ns) / 1e9
            self.points.append(Point(job.prompt_tokens, job.hit_tokens, ttft_s))


def replay_engine(logs: tuple[Path, ...], options: EngineOptions, wanted: ReplayOutput) -> None:
    """The whole command. BadInput for what is wrong with the engine or the log."""
    config = load_fleet(options.fleet, options.overrides, any_latency=True)
    folder = engine_folder(options.spec)
    kept, partial = _Kept(), False
    with contextlib.ExitStack() as stack:
        tmp = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="cachecast-")))
        report = stack.enter_context(progress())
        writer = None
        if wanted.out is not None:  # before the work: the place may be taken
            writer = stack.enter_context(RunWriter(wanted.out, wanted.force))
        trace = open_log(logs, tmp, report)
        turns = turns_of(
            trace.requests(columns=COLUMNS), PromptMaker(read_shape(folder).vocab_size),
            ignore_output=config.engine.ignore_output, speed_up=options.speed_up,
        )  # fmt: skip
        engine = _warm_engine(folder, config, options, report)
        jobs_sink = None if writer is None else MeasuredSink(writer, options.spec)
        steps_sink = None if writer is None else StepSink(writer)
        replay = _replay(engine, options, steps_sink)

        def keep(job: Job) -> None:
            kept.add(job, wanted)
            report("replaying", kept.totals.requests, trace.rows)
            if jobs_sink is not None:
                jobs_sink(job)

        try:
            closed = config.fleet.loop == "closed"
            for job in replay.closed_loop(turns) if closed else replay.open_loop(turns):
                keep(job)
        except KeyboardInterrupt:
            partial = True
            for job in replay.held_back():
                keep(job)
        if not kept.totals.requests:
            raise BadInput("interrupted before a request had ended: nothing was written")
        measured = measured_json(kept.totals, replay, kept.preemptions)
        meta = _meta(logs, options, config.fleet.loop, partial, measured)
        if writer is not None and jobs_sink is not None and steps_sink is not None:
            jobs_sink.flush()
            steps_sink.flush()
            writer.finish(meta)
    wanted.draw(kept.points, f"{options.spec} on {options.device}, {options.clock} clock")
    _print(kept, meta, wanted)
    wanted.say_done(kept.totals.requests, partial)


def _warm_engine(
    folder: Path, config: FleetConfig, options: EngineOptions, report: Progress
) -> Any:
    engine = engine_of(
        folder, config, FilesBeside(options.fleet), options.device, options.threads
    )  # fmt: skip
    report("warming up", 0, 1)
    limits = config.engine
    room = (engine.manager.usable_blocks - 1) * limits.block_tokens
    warm_up(engine, engine.shape.vocab_size, limits.max_batch_tokens, room)
    return engine


def _replay(engine: Any, options: EngineOptions, sink: StepSink | None) -> Replay:
    real = options.clock == "real"
    from cachecast_replay.probe import ModelProbe  # with torch, which is there by now

    probe = ModelProbe(options.device, options.threads) if options.normalise else None
    engine.use_large_pages()  # after the warm-up, and the probe's memory too
    return Replay(
        engine,
        RealClock(Fraction(str(options.speed_up))) if real else VirtualClock(),
        Stopwatch(probe),
        _nothing if sink is None else _into(sink),
    )


def _meta(
    logs: tuple[Path, ...], options: EngineOptions, loop: str, partial: bool, found: dict[str, Any]
) -> dict[str, Any]:
    """What `run.json` says of how it was measured, and the totals."""
    return {
        "command": "replay",
        "input_hash": hash_inputs(logs),
        "engine": options.spec,
        "clock": options.clock,
        "speed_up": options.speed_up,
        "normalised": options.normalise,
        "partial": partial,
        "machine": machine_name(options.device),
        "device": options.device,
        "threads": options.threads,
        "loop": loop,
        "torch": version("torch"),
        "fleet": found,
    }


def _print(kept: _Kept, meta: dict[str, Any], wanted: ReplayOutput) -> None:
    if wanted.per_request:
        for row in kept.rows:
            print_json_line(row)
    elif wanted.as_json:
        print_json({**meta, **meta.pop("fleet")})
    else:
        print_measured(kept.totals, meta)


def _nothing(step: Step) -> None:
    """Nobody keeps the steps."""


def _into(sink: StepSink) -> Callable[[Step], None]:
    def keep(step: Step) -> None:
        counts = (
            step.prefill_tokens, step.prefill_requests, step.prefill_pairs, step.decode_requests,
            step.decode_context, step.held_tokens,
        )  # fmt: skip
        sink.add(
            counts, step.time.duration_ns, start_ns=step.start_ns, raw_ns=step.time.raw_ns,
            probe_ns=step.time.probe_ns, foreign_cpu=step.time.foreign_cpu,
        )  # fmt: skip

    return keep
