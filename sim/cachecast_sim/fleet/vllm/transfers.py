"""Blocks on their way to a server: from a tier below, or from the server that prefilled a job."""

from collections import deque
from collections.abc import Callable
from heapq import heappop, heappush

from cachecast_sim.fleet.extents import Holding
from cachecast_sim.fleet.job import Job
from cachecast_sim.fleet.tiers import TierStack
from cachecast_sim.fleet.vllm.job_blocks import JobBlocks, reset

Receive = Callable[[Job, int, int], int]  # (job, tokens, now_ns): when their K and V have come


class Transfers:
    """Jobs that hold their blocks and wait for what belongs into them, and jobs that are gone and
    whose blocks wait until they have been fetched.

    `loaded` are the jobs whose blocks have come and of which a part is still to be prefilled.
    """

    def __init__(self, blocks: JobBlocks, tiers: TierStack | None, receive: Receive | None) -> None:
        self.loaded: deque[Job] = deque()
        self._blocks = blocks
        self._tiers = tiers
        self._receive = receive
        self._coming: set[Job] = set()
        self.arrivals: list[tuple[int, int, Job]] = []  # (when, order of admission, job): a heap
        self._leaving: dict[Job, tuple[list[Holding], int]] = {}

    def __contains__(self, job: Job) -> bool:
        """Whether blocks of `job` are on their way."""
        return job in self._coming

    @property
    def next_ns(self) -> int | None:
        """When the next job's blocks are there; None if nothing is on its way."""
        return self.arrivals[0][0] if self.arrivals else None

    def arrived(self, now_ns: int) -> list[Job]:
        """The jobs whose blocks are there by now, in the order in which they came."""
        done = []
        while self.arrivals and self.arrivals[0][0] <= now_ns:
            job = heappop(self.arrivals)[2]
            self._coming.remove(job)
            self._blocks.fill(job, job.computed)
            done.append(job)
        return done

    def load(self, job: Job, hit: int, limit: int, needed: int, now_ns: int) -> int:
        """Load what lies in the tiers behind the hit, into blocks taken now. Hit and loaded."""
        if self._tiers is None:
            return hit
        loaded, ready_ns = self._tiers.load(job.path, hit, limit, now_ns)
        if loaded:
            if job.scheduled_ns is None:
                job.loaded_tokens = loaded * self._blocks.block_tokens
            self._expect(job, needed, ready_ns)
        return hit + loaded

    def fetch(self, job: Job, hit: int, needed: int, now_ns: int) -> None:
        """Fetch the K and V of a job that another server has prefilled, but for its hit here."""
        assert self._receive is not None, "only a server that decodes gets prefilled jobs"
        tokens = max(0, job.prompt_tokens - hit * self._blocks.block_tokens)
        job.computed, job.remaining, job.prefilled = job.prompt_tokens, 0, False
        self._expect(job, needed, self._receive(job, tokens, now_ns))

    def give_away(self, job: Job) -> None:
        """Another server goes on with `job`; its blocks here stay until they have been fetched."""
        self._leaving[job] = job.held, job.blocks - job.filled_blocks
        reset(job)
        job.prefilled = True

    def let_go(self, job: Job, now_ns: int) -> None:
        """The blocks of a job that was given away have been fetched."""
        held, unhashed = self._leaving.pop(job)
        self._blocks.pool.release(held, unhashed, now_ns)

    def _expect(self, job: Job, needed: int, ready_ns: int) -> None:
        self._blocks.pool.take(needed)
        job.blocks += needed
        self._coming.add(job)
        heappush(self.arrivals, (ready_ns, job.order, job))
