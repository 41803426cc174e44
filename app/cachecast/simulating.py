"""The `simulate` job: a log through a fleet, its rows handed on as they are known."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from cachecast.progress import Report
from cachecast_datasets.request import Request
from cachecast_datasets.trace import Trace
from cachecast_sim.fleet.job import Job
from cachecast_sim.fleet.run import FleetRun

REPORT_EVERY = 2_048  # requests between two progress reports

# what a fleet needs of a request
COLUMNS = (
    "session_id", "agent_id", "token_block_size", "token_blocks", "token_ids", "output_token_ids",
    "boundaries", "prompt_tokens", "output_tokens", "think_time_s", "end_s",
)  # fmt: skip


def simulate(
    trace: Trace,
    run: FleetRun,
    sinks: Sequence[Callable[[Job], None]] = (),
    report: Report = lambda what, done, total: None,
) -> None:
    """Serve the whole log; each sink gets every job once it has ended, in log order."""
    requests = _reported(trace.requests(columns=_columns(trace)), trace.rows, report)
    for job in run.jobs(requests):
        for sink in sinks:
            sink(job)


def _columns(trace: Trace) -> list[str]:
    """Boundaries only where nothing finer is known: they are the larger part of a log."""
    finer = trace.meta.evidence in ("tokens", "token_blocks")
    return [name for name in COLUMNS if not (finer and name == "boundaries")]


def _reported(requests: Iterator[Request], total: int, report: Report) -> Iterator[Request]:
    for done, request in enumerate(requests):
        if done % REPORT_EVERY == 0:
            report("simulating", done, total)
        yield request
    report("simulating", total, total)


def fleet_name(path: Path) -> str:
    """What a fleet is called in tables: its file's name."""
    return path.stem
