"""The tables that the kernels work on: a log's, which no run changes, and those of one run."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cachecast_sim.fleet.compiled import columns as at
from cachecast_sim.fleet.job import Job
from cachecast_sim.fleet.prefixes import Segment
from cachecast_sim.latency.terms import Terms
from cachecast_sim.latency.work import experts_read

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_ROWS = 1 << 15  # of extents and holdings, at first
_GAPS = 1 << 20


@dataclass(frozen=True, slots=True)
class LogTables:
    """A log's jobs in order (prompt, output, known blocks, first and last piece), the pieces of
    their paths, where each segment starts, and when the last job comes."""

    jobs: Ints
    pieces: Ints
    starts: Ints
    last_arrival_ns: int


def log_tables(jobs: Sequence[Job]) -> LogTables:
    """Of all the jobs of a log; their numbers are their places."""
    numbers: dict[Segment, int] = {}
    pieces: list[tuple[int, int, int]] = []
    rows = []
    for job in jobs:
        first = len(pieces)
        for segment, low, high in job.path[:-1]:
            pieces.append((numbers.setdefault(segment, len(numbers)), low, high))
        _, low, high = job.path[-1]  # its own
        pieces.append((at.NONE, low, high))
        rows.append((job.prompt_tokens, job.output_tokens, job.known_blocks, first, len(pieces)))
    return LogTables(
        np.array(rows, np.int64).reshape(-1, 5),
        np.array(pieces, np.int64).reshape(-1, at.PIECE),
        np.fromiter((segment.start for segment in numbers), np.int64, len(numbers)),
        max((job.arrival_ns for job in jobs), default=0),
    )


@dataclass(slots=True)
class RunTables:
    """Everything that one run changes, in the order of the kernels' arguments."""

    world: Ints
    servers: Ints
    jobs: Ints
    pieces: Ints
    residences: Ints
    extents: Ints
    holdings: Ints
    segments: Ints
    needs: Ints
    running: Ints
    told: Ints
    gaps: Ints
    when: Ints

    def grow(self) -> None:
        """Twice as many extents and holdings."""
        self.extents = _twice(self.extents, self.world, at.FREE_EXTENT, at.AFTER)
        self.holdings = _twice(self.holdings, self.world, at.FREE_HOLDING, at.EARLIER)


@dataclass(frozen=True, slots=True)
class Size:
    """Servers that are all alike. `blocks` are those that hold tokens."""

    servers: int
    blocks: int
    block_tokens: int
    max_batch_tokens: int
    max_seqs: int


def run_tables(log: LogTables, size: Size) -> RunTables:
    """Nobody has been served, and nothing is cached."""
    count, segments = size.servers, len(log.starts)
    jobs = np.zeros((len(log.jobs), at.JOB), np.int64)
    jobs[:, at.PROMPT : at.PATH_END + 1] = log.jobs
    for column in (at.HELD, at.NEXT, at.SCHEDULED, at.FIRST_TOKEN, at.END):
        jobs[:, column] = at.NONE
    servers = np.zeros((count, at.SERVER), np.int64)
    servers[:, (at.WAITING, at.WAITING_LAST, at.PARTIAL)] = at.NONE
    servers[:, at.NEXT_FINISH] = at.NEVER
    servers[:, at.UNHASHED] = servers[:, at.USABLE] = size.blocks
    residences = np.zeros((count * segments + len(jobs), at.RESIDENT), np.int64)
    residences[:, (at.OLDEST, at.YOUNGEST)] = at.NONE
    residences[: count * segments, at.HELD_TO] = np.tile(log.starts, count)
    world = np.zeros(at.WORLD, np.int64)
    world[at.BLOCK_TOKENS], world[at.MAX_BATCH] = size.block_tokens, size.max_batch_tokens
    world[at.MAX_SEQS], world[at.SERVERS] = size.max_seqs, count
    world[at.SEGMENTS], world[at.RESUME] = segments, at.NONE
    world[at.TIMES_BITS] = size.max_seqs.bit_length()
    lengths = log.jobs[:, 4] - log.jobs[:, 3]
    world[at.MOST_PIECES] = int(lengths.max(initial=1)) + 1
    extents = np.zeros((count, at.EXTENT), np.int64)
    extents[:, at.RESIDENCE] = at.NONE
    extents[:, at.BEFORE] = extents[:, at.AFTER] = np.arange(count)  # rings of their own
    world[at.FREE_EXTENT] = world[at.FREE_HOLDING] = at.NONE
    found = RunTables(
        world, servers, jobs, log.pieces, residences, extents,
        np.zeros((0, at.HOLDING), np.int64), log.starts.copy(),
        np.zeros((count, 2 * size.block_tokens), np.int64),
        np.zeros((count, size.max_seqs), np.int64),
        np.zeros((4 * size.max_seqs + 1024, at.TELLING), np.int64),
        np.zeros(_GAPS + size.max_seqs + 1, np.int64), np.full(count, at.NEVER, np.int64),
    )  # fmt: skip
    found.grow()
    return found


def _twice(table: Ints, world: Ints, first: int, link: int) -> Ints:
    """The table with as many rows more, all of them unused, and listed as such."""
    old = len(table)
    more = max(old, _ROWS)
    found = np.vstack([table, np.zeros((more, table.shape[1]), np.int64)])
    found[old:, link] = np.arange(old + 1, old + more + 1)
    found[-1, link] = world[first]
    world[first] = old
    world[first + 1] += more
    return found


def term_tables(terms: Terms, most_tokens: int) -> tuple[Ints, Floats, Floats]:
    """A latency model for the kernels, for steps of at most so many tokens."""
    experts: list[float] = []
    if terms.experts is not None:
        count, chosen = terms.experts
        experts = [experts_read(count, chosen, tokens) for tokens in range(most_tokens + 1)]
    return (
        np.array(terms.whole, np.int64), np.array(terms.real, np.float64),
        np.array(experts, np.float64),
    )  # fmt: skip
