"""A fleet's plain vLLM servers as one engine in machine code, behind a router in Python."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import fields
from functools import partial
from typing import Any

import numpy as np

from cachecast_datasets.errors import RequestFault
from cachecast_sim.fleet.compiled import columns as at
from cachecast_sim.fleet.compiled.kernel import matched_blocks, run_until
from cachecast_sim.fleet.compiled.tables import (
    Ints,
    LogTables,
    RunTables,
    Size,
    run_tables,
    term_tables,
)
from cachecast_sim.fleet.gaps import GapCounts, counted, together
from cachecast_sim.fleet.job import Job
from cachecast_sim.fleet.misses import tell_reasons
from cachecast_sim.latency.terms import Terms

OnFinish = Callable[[Job, int], None]  # (job, now_ns)
Sample = Callable[[int, int, tuple[int, int, int]], int]
NS = 1_000_000_000
_LAST_NS = at.NEVER >> 1
_UNSORTED = 8  # tables of gaps: 128 MB


def _too_late(now_ns: int) -> RequestFault:
    return RequestFault(
        f"steps go on until {now_ns / NS:.3g} s after the log's zero, expected at most "
        f"{_LAST_NS / NS:.3g} s; shorter pauses or faster steps are needed"
    )


class View:
    """What a router sees of one of the servers."""

    def __init__(self, servers: "CompiledServers", number: int) -> None:
        self._servers = servers
        self._number = number

    @property
    def jobs(self) -> int:
        """Jobs that wait or run there."""
        return self._servers.jobs[self._number]

    def matched_tokens(self, job: Job, now_ns: int) -> int:
        """Prompt tokens at the front of `job` that it holds at this moment."""
        return self._servers.matched_tokens(job)[self._number]


class CompiledServers:
    """All servers of a fleet, as an engine that goes from one arrival to the next at once.

    `until()` is when something else happens: nothing is done beyond it. `finished` and `sample` are
    those of the world, `stop_at_end` where the end of a job can bring the next arrival.
    """

    def __init__(
        self, log: LogTables, size: Size, terms: Terms, finished: OnFinish, sample: Sample,
        until: Callable[[], float], *, stop_at_end: bool,
    ) -> None:  # fmt: skip
        self.jobs = [0] * size.servers  # that wait or run on each
        self.views = [View(self, number) for number in range(size.servers)]
        self._size = size
        self._finished, self._sample, self._until = finished, sample, until
        self._tables = run_tables(log, size)
        self._tables.world[at.STOP_AT_END] = stop_at_end
        self._terms = term_tables(terms, size.max_batch_tokens)
        self._here: dict[int, Job] = {}  # by their numbers
        self._matched: tuple[Job | None, list[int]] = (None, [])
        self._found = np.zeros(size.servers, np.int64)
        self._gaps: list[Ints] = []  # rows, to be added to the counts
        self._long_gaps: Counter[int] = Counter()
        self._gap_counts = counted({})
        self._run_until = self._on_tables()

    def submit(self, job: Job, now_ns: int) -> int | None:
        """`vllm.server.submit`, to the server that the job names."""
        server = job.server
        assert server is not None, "the router has chosen"
        size, tables, row = self._size, self._tables, job.index
        tokens = job.prompt_tokens + job.output_tokens - 1
        if -(-tokens // size.block_tokens) > size.blocks:
            job.status = "rejected"
            self._finished(job, now_ns)
            return None
        if now_ns > _LAST_NS:
            raise _too_late(now_ns)
        self._here[row] = job
        self.jobs[server] += 1
        servers = tables.servers
        last = servers[server, at.WAITING_LAST]
        if last == at.NONE:
            servers[server, at.WAITING] = row
        else:
            tables.jobs[last, at.NEXT] = row
        servers[server, at.WAITING_LAST] = row
        if servers[server, at.BUSY]:
            return None
        tables.when[server] = now_ns
        return now_ns

    def advance(self, now_ns: int) -> int | None:
        """All step boundaries before anything else happens. When the next one is, None if idle."""
        self._matched = (None, [])
        until = self._until()
        until_ns = int(until) if until < at.NEVER else at.NEVER
        tables = self._tables
        world = tables.world
        while True:
            came_back = self._run_until(until_ns)
            if came_back == at.SAMPLING:
                self._tell_load(int(world[at.SAMPLED]), int(world[at.NOW]))
            elif came_back == at.GROW:
                tables.grow()
                self._run_until = self._on_tables()
            elif came_back == at.TOO_LATE:
                raise _too_late(int(tables.when.min()))
            if len(tables.gaps) - world[at.GAPS] <= self._size.max_seqs:
                self._keep_gaps()
            if came_back in (at.DONE, at.TELL) or (came_back == at.SAMPLING and world[at.TOLD]):
                break
        self._hear()
        next_ns = int(tables.when.min())
        return next_ns if next_ns < at.NEVER else None

    def load(self) -> tuple[int, int, int]:
        """Jobs that wait, jobs that run, blocks that jobs hold, of all servers together."""
        running = int(self._tables.servers[:, at.RUNNING].sum())
        held = self._size.servers * self._size.blocks - sum(self.free_blocks)
        return sum(self.jobs) - running, running, held

    def look_at(self, at_ns: int) -> int | None:
        """Loads are told by `advance` itself."""
        return None

    def matched_tokens(self, job: Job) -> list[int]:
        """Of each server: see `View`."""
        known, found = self._matched
        if known is not job:
            tables = self._tables
            matched_blocks(
                tables.world, tables.jobs, tables.pieces, tables.residences, tables.extents,
                job.index, self._found,
            )  # fmt: skip
            found = (self._found * self._size.block_tokens).tolist()
            self._matched = (job, found)
        return found

    def counted_gaps(self) -> GapCounts:
        """As of `VllmServer`, over all servers."""
        self._keep_gaps()
        self._add_up_gaps()
        if not self._long_gaps:
            return self._gap_counts
        return together([self._gap_counts, counted(self._long_gaps)])

    @property
    def preemptions(self) -> int:
        return int(self._tables.servers[:, at.PREEMPTED].sum())

    @property
    def evicted_blocks(self) -> int:
        return int(self._tables.servers[:, at.EVICTED].sum())

    @property
    def steps(self) -> int:
        return int(self._tables.servers[:, at.STEPS].sum())

    @property
    def free_blocks(self) -> list[int]:
        """Of each server."""
        servers = self._tables.servers
        return [int(free) for free in servers[:, at.UNHASHED] + servers[:, at.QUEUED]]

    def _on_tables(self) -> Callable[[int], int]:
        tables: list[Any] = [getattr(self._tables, field.name) for field in fields(RunTables)]
        return partial(run_until, *tables, *self._terms)

    def _tell_load(self, server: int, now_ns: int) -> None:
        row = self._tables.servers[server]
        running = int(row[at.RUNNING])
        held = int(row[at.USABLE] - row[at.UNHASHED] - row[at.QUEUED])
        waiting = self.jobs[server] - running - self._ended_untold(server)
        row[at.SAMPLE] = self._sample(server, now_ns, (waiting, running, held))

    def _ended_untold(self, server: int) -> int:
        """Jobs that have ended there at the latest boundary and still count as load."""
        count = int(self._tables.world[at.TOLD])
        if not count:
            return 0
        told = self._tables.told[:count]
        ended = told[told[:, 0] == at.ENDED, 1].tolist()
        return sum(self._here[job].server == server for job in ended)

    def _hear(self) -> None:
        """What has become of jobs since it was heard of last."""
        tables, size = self._tables, self._size
        count = int(tables.world[at.TOLD])
        tables.world[at.TOLD] = 0
        for kind, number, value in tables.told[:count].tolist():
            if kind == at.LONG_GAP:
                self._long_gaps[value] += number
                continue
            if kind == at.READMITTED:
                self._here[number].readmission_hit_tokens.append(value)
                continue
            job = self._here.pop(number)
            _fill_in(job, tables.jobs[number].tolist(), size.block_tokens)
            assert job.server is not None, "the router has chosen"
            self.jobs[job.server] -= 1
            self._finished(job, value)

    def _keep_gaps(self) -> None:
        """Those that the kernel told, for a sum: one sort of all is faster than several."""
        world = self._tables.world
        used = int(world[at.GAPS])
        if used:
            world[at.GAPS] = 0
            self._gaps.append(self._tables.gaps[:used].copy())
        if len(self._gaps) > _UNSORTED:
            self._add_up_gaps()

    def _add_up_gaps(self) -> None:
        """Of rows, which are in order where they are numbers in order."""
        if not self._gaps:
            return
        rows = np.concatenate(self._gaps)
        self._gaps = []
        rows.sort()
        bits = int(self._tables.world[at.TIMES_BITS])
        lengths, times = rows >> bits, rows & ((1 << bits) - 1)
        first = np.flatnonzero(np.concatenate(([True], lengths[1:] != lengths[:-1])))
        found = GapCounts(lengths[first], np.add.reduceat(times, first))
        self._gap_counts = together([self._gap_counts, found]) if self._gap_counts else found


def _fill_in(job: Job, row: Sequence[int], block_tokens: int) -> None:
    """A job's results, out of its row."""
    job.status = "ok"
    job.generated, job.preemptions = row[at.GENERATED], row[at.PREEMPTIONS]
    job.scheduled_ns, job.first_token_ns = row[at.SCHEDULED], row[at.FIRST_TOKEN]
    job.end_ns = row[at.END]
    hit = row[at.HIT]
    job.hit_tokens = hit * block_tokens
    tell_reasons(job, hit, row[at.HERE], row[at.SOMEWHERE], "evicted", block_tokens)
