"""A log's requests made into jobs: as they come for one run, or once for many."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from cachecast_datasets.errors import RequestFault
from cachecast_datasets.request import Request
from cachecast_sim.fleet.closed_loop import Key, Pauses
from cachecast_sim.fleet.content import ContentError, JobMaker, NoPrompt
from cachecast_sim.fleet.job import Job
from cachecast_sim.fleet.prefixes import Path, Segment

if TYPE_CHECKING:  # it brings numba
    from cachecast_sim.fleet.compiled.tables import LogTables

Asked = tuple[Job, Key, int]  # the job, its session and agent, the caller's pause before it in ns


class LogJobs:
    """Makes them, and remembers what was left out or taken for granted: `skipped` requests have no
    prompt size, `pauses` and `seen` say the rest."""

    def __init__(self, block_tokens: int, ignore_output: bool) -> None:
        self.skipped = 0
        self.pauses = Pauses()
        self._maker = JobMaker(block_tokens, ignore_output)
        self.seen = self._maker.seen

    def made(self, requests: Iterable[Request], pauses: bool) -> Iterator[Asked]:
        """Those that can be served, in log order; their pauses are 0 unless asked for.

        RequestFault for a request whose blocks the engine cannot cache."""
        make, before = self._maker.job, self.pauses.before
        for request in requests:
            try:
                job = make(request)
            except NoPrompt:
                self.skipped += 1
                continue
            except ContentError as problem:
                raise RequestFault(f"request {request.request_id}: {problem}") from None
            yield job, (request.session_id, request.agent_id), before(request) if pauses else 0


class KeptJobs:
    """The jobs of a whole log, for any number of runs with engines of one block size, side by side
    or after each other: what a run changes is its own.

    Memory: 8 bytes a distinct block and some 700 a request.
    """

    def __init__(
        self, requests: Iterable[Request], block_tokens: int, ignore_output: bool = False
    ) -> None:
        """RequestFault as `LogJobs.made` has it."""
        self.log = LogJobs(block_tokens, ignore_output)
        self.cut = (block_tokens, ignore_output)
        self._asked = list(self.log.made(requests, pauses=True))
        self._tables: LogTables | None = None

    @property
    def tables(self) -> "LogTables":
        """For servers in machine code; made once."""
        from cachecast_sim.fleet.compiled.tables import log_tables

        if self._tables is None:
            self._tables = log_tables([job for job, _, _ in self._asked])
        return self._tables

    def asked(self, on_tables: bool = False) -> Iterator[Asked]:
        """All of them, as nobody has served them yet; those whose blocks stand in `tables` share
        their segments."""
        own: dict[Segment, Segment] = {}
        for job, key, pause_ns in self._asked:
            yield _again(job, job.path if on_tables else _own_path(job, own)), key, pause_ns


def _own_path(job: Job, own: dict[Segment, Segment]) -> Path:
    """Its path on a run's `own` segments."""
    path: Path = []
    for segment, low, high in job.path[:-1]:
        copy = own.get(segment)
        if copy is None:
            copy = own[segment] = Segment(segment.start, segment.ids)
        path.append((copy, low, high))
    segment, low, high = job.path[-1]  # its output is nobody else's
    path.append((Segment(segment.start), low, high))
    return path


def _again(job: Job, path: Path) -> Job:
    """A copy that has not been served, with that path."""
    return Job(
        job.request_id, job.index, job.arrival_ns, job.prompt_tokens, job.output_tokens, path,
        job.known_blocks, job.shared_blocks, job.session_id,
    )  # fmt: skip
