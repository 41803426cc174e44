"""Decode steps in which nothing but lengths can change, one after the other in a tight loop."""

import numpy as np
import numpy.typing as npt

from cachecast_sim.curve.jit import part
from cachecast_sim.fleet.compiled import columns as at
from cachecast_sim.fleet.compiled.pool import take
from cachecast_sim.fleet.compiled.step_time import step_ns

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@part
def is_quiet(world: Ints, servers: Ints, server: int) -> bool:
    """Whether all jobs of the step that runs decode, none fills blocks that others may find, and
    nobody can be admitted behind it."""
    row = servers[server]
    if row[at.DECODING] == 0 or row[at.REQUESTS] or row[at.PARTIAL] != at.NONE or row[at.FILLING]:
        return False
    closed: bool = (
        row[at.WAITING] == at.NONE or row[at.BLOCKED] == 1 or row[at.RUNNING] >= world[at.MAX_SEQS]
    )
    return closed


@part
def decode_on(
    world: Ints, servers: Ints, residences: Ints, extents: Ints, needs: Ints, gaps: Ints,
    whole: Ints, real: Floats, experts: Floats, server: int, now_ns: int, until_ns: int,
) -> int:  # fmt: skip
    """The boundaries of a quiet server from `now_ns` on, as long as nobody finishes, is preempted
    or asks for its load. Until `until_ns` nobody else can tell when they come. The next one,
    whatever it brings."""
    row, size = servers[server], world[at.BLOCK_TOKENS]
    steps, context, duration_ns = row[at.GROUP_STEPS], row[at.CONTEXT], row[at.DURATION]
    jobs, filled, before = row[at.DECODING], world[at.GAPS], row[at.GROUP_STEPS]
    until_ns = min(until_ns, row[at.SAMPLE])
    last = min(row[at.NEXT_FINISH], steps + len(gaps) - filled)
    bits = world[at.TIMES_BITS]
    while now_ns < until_ns and steps < last and duration_ns >> (at.LENGTH_BITS - bits) == 0:
        needed = needs[server, steps % size]
        if needed > row[at.UNHASHED]:
            if needed > row[at.UNHASHED] + row[at.QUEUED]:
                break
            take(world, servers, residences, extents, server, needed)
        else:
            row[at.UNHASHED] -= needed
        gaps[filled] = duration_ns << bits | jobs
        filled += 1
        steps += 1
        beside = context + jobs
        duration_ns = step_ns(whole, real, experts, 0, 0, 0, jobs, beside)
        context = beside
        now_ns += duration_ns
    if steps > before:
        row[at.STEPS] += steps - before
        row[at.GROUP_STEPS], row[at.CONTEXT], row[at.DURATION] = steps, context, duration_ns
        row[at.BESIDE_CONTEXT] = context
        world[at.GAPS] = filled
    return now_ns
