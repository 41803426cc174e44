"""`simulate` over a log that is imported first: with a run to keep, or the API's bill beside it."""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cachecast.billing import Bill, bills_of
from cachecast.billing_report import bill_json
from cachecast.fleet_file import FilesBeside, clock_of
from cachecast.fleet_report import distributions_json, fleet_json
from cachecast.fleet_writer import ServedSink, write_timeline
from cachecast.ledger_writer import write_requests
from cachecast.output import notes
from cachecast.progress import Report
from cachecast.results import RunWriter
from cachecast.results.writer import hash_inputs
from cachecast.scenarios import scenarios_of
from cachecast.simulating import Sink, Took, check_served, serve
from cachecast.step_writer import StepSink
from cachecast_datasets.importing import open_or_import
from cachecast_datasets.prefix_blocks import shares_unknown
from cachecast_datasets.request import Request
from cachecast_datasets.trace import Trace
from cachecast_pricing.catalog import load_catalog
from cachecast_sim.fleet.job import Job
from cachecast_sim.fleet.log_jobs import KeptJobs
from cachecast_sim.fleet.run import FleetRun
from cachecast_sim.latency.logged import OnStep
from cachecast_sim.scenario import Scenario

_HALVES = 256  # reads and ends of requests between two progress reports

# what a fleet needs of a request
COLUMNS = (
    "session_id", "agent_id", "hash_scope", "token_block_size", "token_blocks", "token_ids",
    "output_token_ids", "boundaries", "prompt_tokens", "output_tokens", "think_time_s", "end_s",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Keep:
    """Where a run is written, and what `run.json` says of its making.

    `fleet` is the fleet file: its stem names the run, its folder is what it points to files from.
    """

    out: Path
    force: bool
    steps: bool
    fleet: Path
    input_hash: str


def serve_log(
    logs: Sequence[Path],
    make_run: Callable[[OnStep | None], FleetRun],
    sinks: Sequence[Sink],
    fleet: Path,
    *,
    steps: bool,
    models: Sequence[str],
    skip_bad: bool,
    out: Path | None,
    force: bool,
    took: Took,
    tmp: Path,
    report: Report,
) -> tuple[FleetRun, list[Bill]]:
    """Serve the logs, write the run to `out`, with its `steps` if asked; and the bills of `models`
    for the same log."""
    scenarios = scenarios_of(models, load_catalog()) if models else []
    trace = open_or_import(list(logs), skip_bad=skip_bad, tmp_dir=tmp, progress=report)
    for warning in trace.warnings:
        notes.print(f"note: {warning}", markup=False)
    if trace.rows and trace.meta.evidence == "counts":
        raise shares_unknown(trace, ", ".join(map(str, logs)))
    keep = None if out is None else Keep(out, force, steps, fleet, hash_inputs(logs))
    return serve_trace(trace, make_run, sinks, keep, scenarios, took, report)


def serve_trace(
    trace: Trace,
    make_run: Callable[[OnStep | None], FleetRun],
    sinks: Sequence[Sink],
    keep: Keep | None,
    scenarios: Sequence[Scenario] = (),
    took: Took | None = None,
    report: Report = lambda what, done, total: None,
    source: Callable[[FleetRun, "Progress"], Iterable[Request] | KeptJobs] | None = None,
) -> tuple[FleetRun, list[Bill]]:
    """The same for a log that is open; its requests come from `source` where that is given."""
    with contextlib.ExitStack() as stack:
        writer = None if keep is None else stack.enter_context(RunWriter(keep.out, keep.force))
        kept = None if writer is None or keep is None else ServedSink(writer, keep.fleet.stem)
        step_sink = StepSink(writer) if writer is not None and keep and keep.steps else None
        run = make_run(None if step_sink is None else step_sink.of_model)
        progress = Progress(report, trace.rows)
        own = [progress.served] if kept is None else [kept, progress.served]
        asked = requests_of(trace, progress) if source is None else source(run, progress)
        serve(asked, run, [*sinks, *own], took)
        check_served(run)
        bills = bills_of(trace, scenarios, load_catalog(), report=report) if scenarios else []
        if writer is not None and kept is not None and keep is not None:
            kept.flush()
            if step_sink is not None:
                step_sink.flush()
            write_timeline(writer, run)
            write_requests(writer, trace)
            writer.finish(_meta(run, bills, keep))
    return run, bills


class Progress:
    """Reports while requests are read and while they are served, which in a closed loop or a long
    queue comes after all were read."""

    def __init__(self, report: Report, requests: int) -> None:
        self._report = report
        self._total = requests
        self._halves = 0  # a request counts once when it is read and once when it has ended

    def read(self) -> None:
        """One more request was read."""
        self._count()

    def all_read(self) -> None:
        """The requests need not be read again."""
        self._halves += self._total

    def waiting(self) -> None:
        """Nothing yet."""
        self._report("simulating", self._halves // 2, self._total)

    def served(self, job: Job) -> None:
        """One more request has ended."""
        self._count()

    def _count(self) -> None:
        if self._halves % _HALVES == 0:
            self._report("simulating", self._halves // 2, self._total)
        self._halves += 1


def requests_of(trace: Trace, progress: Progress) -> Iterator[Request]:
    """What a fleet needs of a log's requests."""
    for request in trace.requests(columns=_columns(trace)):
        progress.read()
        yield request


def _columns(trace: Trace) -> list[str]:
    """Boundaries only where nothing finer is known: they are the larger part of a log."""
    finer = trace.meta.evidence in ("tokens", "token_blocks")
    return [name for name in COLUMNS if not (finer and name == "boundaries")]


def _meta(run: FleetRun, bills: list[Bill], keep: Keep) -> dict[str, Any]:
    latency = run.config.latency
    return {
        "command": "simulate",
        "input_hash": keep.input_hash,
        "latency": dict(latency),
        "latency_folder": str(keep.fleet.resolve().parent),  # what its file is relative to
        **clock_of(latency, FilesBeside(keep.fleet)),
        "fleet": fleet_json(run),
        "gpu_time_ns": run.gpu_time_ns,
        "cache": {
            "blocks_per_server": run.blocks_per_server,
            "block_tokens": run.config.engine.block_tokens,
            "bytes_per_token": run.kv.bytes_per_token,
        },
        "distributions": distributions_json(run),
        "scenarios": [bill_json(bill, []) for bill in bills],
        "assumptions": run.assumptions(),
    }
