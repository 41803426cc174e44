"""The `simulate` job: a log through a fleet, its rows handed on as they are known."""

import gc
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

from cachecast_datasets.errors import BadInput
from cachecast_datasets.request import Request
from cachecast_sim.fleet.job import Job
from cachecast_sim.fleet.run import FleetRun

Sink = Callable[[Job], None]


def serve(requests: Iterable[Request], run: FleetRun, sinks: Sequence[Sink] = ()) -> None:
    """Serve them all; each sink gets every job once it has ended, in log order."""
    with _without_cycle_collector():
        for job in run.jobs(requests):
            for sink in sinks:
                sink(job)


def check_served(run: FleetRun) -> None:
    """BadInput if the log had nothing to serve."""
    if not run.totals.requests:
        raise BadInput("no request of the log has a prompt size, expected at least one")


@contextmanager
def _without_cycle_collector() -> Iterator[None]:
    """A simulation makes hardly any cycles, and looking for them costs a quarter of its time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
