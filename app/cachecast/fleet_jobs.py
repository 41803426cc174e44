"""A log's jobs for fleets: made once for all that cut the log alike."""

from collections.abc import Iterable

from cachecast.cycle_collector import without_cycle_collector
from cachecast.simulating_logs import Progress, requests_of
from cachecast_datasets.request import Request
from cachecast_datasets.trace import Trace
from cachecast_sim.fleet.log_jobs import KeptJobs
from cachecast_sim.fleet.run import FleetRun

MOST_KEPT = 200_000  # requests of a log whose jobs are kept between fleets: some 150 MB


class FleetJobs:
    """The jobs of one log."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._kept: KeptJobs | None = None

    def of(self, run: FleetRun, progress: Progress) -> Iterable[Request] | KeptJobs:
        """What the run serves; streamed where there is too much to keep."""
        if self._trace.rows > MOST_KEPT:
            return requests_of(self._trace, progress)
        kept = self._kept
        if kept is None or kept.cut != run.cut:
            with without_cycle_collector():
                kept = self._kept = KeptJobs(requests_of(self._trace, progress), *run.cut)
        else:
            progress.all_read()
        return kept
