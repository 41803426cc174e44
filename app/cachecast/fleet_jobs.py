"""A log's jobs for fleets: made once for all that cut the log alike."""

import threading
from collections.abc import Iterable

from cachecast.cycle_collector import without_cycle_collector
from cachecast.progress import nothing_to_report
from cachecast.simulating_logs import Progress, requests_of
from cachecast_datasets.request import Request
from cachecast_datasets.trace import Trace
from cachecast_sim.fleet.config import EngineTable
from cachecast_sim.fleet.log_jobs import KeptJobs
from cachecast_sim.fleet.run import FleetRun

MOST_KEPT = 200_000  # requests of a log whose jobs are kept between fleets: some 150 MB
_LOOK_S = 0.1


class FleetJobs:
    """The jobs of one log."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._kept: KeptJobs | None = None
        self._ahead = threading.Lock()  # while they are read ahead

    def read_ahead(self) -> None:
        """Make those that most fleets will ask for. BadInput for a request that none can serve."""
        engine = EngineTable()
        if self._trace.rows > MOST_KEPT or self._trace.meta.evidence == "counts":
            return
        with self._ahead:
            if self._kept is None:
                cut = (engine.block_tokens, engine.ignore_output)
                self._kept = self._made(cut, Progress(nothing_to_report, self._trace.rows))
                _ = self._kept.tables

    def of(self, run: FleetRun, progress: Progress) -> Iterable[Request] | KeptJobs:
        """What the run serves; streamed where there is too much to keep."""
        if self._trace.rows > MOST_KEPT:
            return requests_of(self._trace, progress)
        self._wait_for_ahead(progress)
        kept = self._kept
        if kept is not None and kept.cut == run.cut:
            progress.all_read()
            return kept
        # not behind a lock: a report may rest until somebody else's work has ended, who would wait
        kept = self._kept = self._made(run.cut, progress)
        return kept

    def _wait_for_ahead(self, progress: Progress) -> None:
        while not self._ahead.acquire(timeout=_LOOK_S):
            progress.waiting()
        self._ahead.release()

    def _made(self, cut: tuple[int, bool], progress: Progress) -> KeptJobs:
        with without_cycle_collector():
            return KeptJobs(requests_of(self._trace, progress), *cut)
