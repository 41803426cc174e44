"""The `simulate` job: a log through a fleet, its rows handed on as they are known."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from cachecast.cycle_collector import without_cycle_collector
from cachecast_datasets.errors import RequestFault
from cachecast_datasets.request import Request
from cachecast_sim.fleet.job import Job
from cachecast_sim.fleet.log_jobs import KeptJobs
from cachecast_sim.fleet.run import FleetRun

Sink = Callable[[Job], None]


@dataclass(slots=True)
class Took:
    """Seconds that a run took: all of it, and what of that went into reading the log and into
    writing its rows."""

    whole_s: float = 0.0
    reading_s: float = 0.0
    writing_s: float = 0.0

    def __str__(self) -> str:
        simulated_s = self.whole_s - self.reading_s - self.writing_s
        parts = [f"simulated in {simulated_s:.2f} s", f"read in {self.reading_s:.2f} s"]
        if self.writing_s:
            parts.append(f"written in {self.writing_s:.2f} s")
        return ", ".join(parts)


def serve(
    requests: Iterable[Request] | KeptJobs,
    run: FleetRun,
    sinks: Sequence[Sink] = (),
    took: Took | None = None,
) -> None:
    """Serve them all; each sink gets every job once it has ended, in log order. To take out kept
    jobs counts as simulating."""
    took = Took() if took is None else took
    clock = time.perf_counter
    started = clock()
    with without_cycle_collector():
        source = requests if isinstance(requests, KeptJobs) else _timed(requests, took)
        for job in run.jobs(source):
            if sinks:
                ended = clock()
                for sink in sinks:
                    sink(job)
                took.writing_s += clock() - ended
    took.whole_s = clock() - started


def _timed(requests: Iterable[Request], took: Took) -> Iterator[Request]:
    clock = time.perf_counter
    source = iter(requests)
    while True:
        started = clock()
        request = next(source, None)
        took.reading_s += clock() - started
        if request is None:
            return
        yield request


def check_served(run: FleetRun) -> None:
    """BadInput if the log had nothing to serve."""
    if not run.totals.requests:
        raise RequestFault("no request of the log has a prompt size, expected at least one")
