"""Blocks that are full, and blocks that are let go, in machine code: the rest of `vllm.pool`."""

import numpy as np
import numpy.typing as npt

from cachecast_sim.curve.jit import part
from cachecast_sim.fleet.compiled import columns as at
from cachecast_sim.fleet.compiled.pool import forget, hold, new_extent, queue_behind, residence_of

Ints = npt.NDArray[np.int64]


@part
def is_top(residences: Ints, extents: Ints, extent: int) -> bool:
    """Whether nobody else holds or held what comes after it."""
    high = extents[extent, at.HIGH]
    other = residences[extents[extent, at.RESIDENCE], at.OLDEST]
    while other != at.NONE:
        if extents[other, at.HIGH] > high:
            return False
        other = extents[other, at.YOUNGER]
    return True


@part
def extend(
    world: Ints, jobs: Ints, residences: Ints, extents: Ints, holdings: Ints, segments: Ints,
    job: int, residence: int, segment: int, low: int, high: int,
) -> None:  # fmt: skip
    """Blocks [low, high) of one segment get their hashes."""
    if high > residences[residence, at.HELD_TO]:
        residences[residence, at.HELD_TO] = high
        if segment != at.NONE and high > segments[segment]:
            segments[segment] = high
    holding = jobs[job, at.HELD]
    if holding != at.NONE and holdings[holding, at.HOLDS_HIGH] == low:
        extent = holdings[holding, at.HOLDS]
        if (
            extents[extent, at.RESIDENCE] == residence
            and extents[extent, at.USERS] == 1
            and (residences[residence, at.EXTENTS] == 1 or is_top(residences, extents, extent))
        ):
            extents[extent, at.HIGH] = holdings[holding, at.HOLDS_HIGH] = high
            return
    extent = new_extent(world, extents, residence, low, high, 1)
    youngest = residences[residence, at.YOUNGEST]
    extents[extent, at.OLDER], extents[extent, at.YOUNGER] = youngest, at.NONE
    if youngest == at.NONE:
        residences[residence, at.OLDEST] = extent
    else:
        extents[youngest, at.YOUNGER] = extent
    residences[residence, at.YOUNGEST] = extent
    residences[residence, at.EXTENTS] += 1
    hold(world, jobs, holdings, job, extent, low, high)


@part
def fill(
    world: Ints, jobs: Ints, pieces: Ints, residences: Ints, extents: Ints, holdings: Ints,
    segments: Ints, server: int, job: int, computed: int,
) -> None:  # fmt: skip
    """`computed` tokens of the job have K and V: whole blocks among them get their hashes."""
    low, whole = jobs[job, at.FILLED], computed // world[at.BLOCK_TOKENS]
    if whole <= low:
        return
    jobs[job, at.FILLED] = whole
    for piece in range(jobs[job, at.PATH], jobs[job, at.PATH_END]):
        if pieces[piece, at.PIECE_HIGH] <= low:
            continue
        end = min(pieces[piece, at.PIECE_HIGH], whole)
        segment = pieces[piece, at.SEGMENT]
        extend(
            world, jobs, residences, extents, holdings, segments, job,
            residence_of(world, server, job, segment), segment,
            max(pieces[piece, at.PIECE_LOW], low), end,
        )  # fmt: skip
        if end == whole:
            return


@part
def append(
    world: Ints, servers: Ints, residences: Ints, extents: Ints, server: int, extent: int
) -> None:
    """To the tail of the free queue, joined to its last where that is the run's upper part."""
    last, size = extents[server, at.BEFORE], extents[extent, at.HIGH] - extents[extent, at.LOW]
    servers[server, at.QUEUED] += size
    residence = extents[extent, at.RESIDENCE]
    if (
        extents[last, at.RESIDENCE] == residence
        and extents[last, at.LOW] == extents[extent, at.HIGH]
        and extents[last, at.FREED] == extents[extent, at.FREED]
        and residences[residence, at.EXTENTS] == 2
    ):
        extents[last, at.LOW] = extents[extent, at.LOW]
        forget(world, residences, extents, extent)
    else:
        queue_behind(extents, last, extent)


@part
def release(
    world: Ints, servers: Ints, jobs: Ints, residences: Ints, extents: Ints, holdings: Ints,
    server: int, job: int, now_ns: int,
) -> None:  # fmt: skip
    """The job lets its blocks go, the last first, and has nothing."""
    servers[server, at.UNHASHED] += jobs[job, at.BLOCKS] - jobs[job, at.FILLED]
    holding = jobs[job, at.HELD]
    while holding != at.NONE:
        part, low = holdings[holding, at.HOLDS], holdings[holding, at.HOLDS_LOW]
        while part != at.NONE:
            lower = extents[part, at.LOWER] if extents[part, at.LOW] > low else at.NONE
            extents[part, at.USERS] -= 1
            if extents[part, at.USERS] == 0:
                extents[part, at.LOWER], extents[part, at.FREED] = at.NONE, now_ns
                append(world, servers, residences, extents, server, part)
            part = lower
        earlier = holdings[holding, at.EARLIER]
        holdings[holding, at.EARLIER] = world[at.FREE_HOLDING]
        world[at.FREE_HOLDING] = holding
        world[at.FREE_HOLDINGS] += 1
        holding = earlier
    jobs[job, at.HELD] = at.NONE
    jobs[job, at.BLOCKS] = jobs[job, at.FILLED] = 0
