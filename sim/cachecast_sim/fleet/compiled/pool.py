"""The block pool in machine code: `vllm.pool`, rule by rule, on tables instead of objects."""

import numpy as np
import numpy.typing as npt

from cachecast_sim.curve.jit import part
from cachecast_sim.fleet.compiled import columns as at

Ints = npt.NDArray[np.int64]


@part
def residence_of(world: Ints, server: int, job: int, segment: int) -> int:
    """The row of what the server has of the segment; a job's own lies behind all shared ones."""
    row: int = server * world[at.SEGMENTS] + segment
    if segment == at.NONE:
        row = world[at.SERVERS] * world[at.SEGMENTS] + job
    return row


@part
def oldest(residences: Ints, extents: Ints, residence: int, block: int) -> int:
    """The oldest extent with block `block`."""
    extent: int = residences[residence, at.OLDEST]
    while extent != at.NONE and not extents[extent, at.LOW] <= block < extents[extent, at.HIGH]:
        extent = extents[extent, at.YOUNGER]
    return extent


@part
def find(
    world: Ints, jobs: Ints, pieces: Ints, residences: Ints, extents: Ints,
    server: int, job: int, limit: int,
) -> tuple[int, int, int]:  # fmt: skip
    """The cached run at the start of a path, its free blocks, and how many extents it has."""
    block = free = parts = 0
    for piece in range(jobs[job, at.PATH], jobs[job, at.PATH_END]):
        high = min(pieces[piece, at.PIECE_HIGH], limit)
        if block >= high:
            break
        residence = residence_of(world, server, job, pieces[piece, at.SEGMENT])
        while block < high:
            extent = oldest(residences, extents, residence, block)
            if extent == at.NONE:
                return block, free, parts
            end = min(extents[extent, at.HIGH], high)
            if extents[extent, at.USERS] == 0:
                free += end - block
            parts += 1
            block = end
    return block, free, parts


@part
def new_extent(world: Ints, extents: Ints, residence: int, low: int, high: int, users: int) -> int:
    """A row for it, in no list yet."""
    extent: int = world[at.FREE_EXTENT]
    world[at.FREE_EXTENT] = extents[extent, at.AFTER]
    world[at.FREE_EXTENTS] -= 1
    extents[extent, at.RESIDENCE] = residence
    extents[extent, at.LOW], extents[extent, at.HIGH] = low, high
    extents[extent, at.USERS], extents[extent, at.LOWER], extents[extent, at.FREED] = (
        users,
        at.NONE,
        0,
    )
    return extent


@part
def place_beside(residences: Ints, extents: Ints, extent: int, part: int) -> None:
    """`part` directly before `extent` in age."""
    residence, older = extents[extent, at.RESIDENCE], extents[extent, at.OLDER]
    extents[part, at.OLDER], extents[part, at.YOUNGER] = older, extent
    extents[extent, at.OLDER] = part
    if older == at.NONE:
        residences[residence, at.OLDEST] = part
    else:
        extents[older, at.YOUNGER] = part
    residences[residence, at.EXTENTS] += 1


@part
def forget(world: Ints, residences: Ints, extents: Ints, extent: int) -> None:
    """The extent leaves its residence, and its row is free."""
    residence = extents[extent, at.RESIDENCE]
    older, younger = extents[extent, at.OLDER], extents[extent, at.YOUNGER]
    if older == at.NONE:
        residences[residence, at.OLDEST] = younger
    else:
        extents[older, at.YOUNGER] = younger
    if younger == at.NONE:
        residences[residence, at.YOUNGEST] = older
    else:
        extents[younger, at.OLDER] = older
    residences[residence, at.EXTENTS] -= 1
    extents[extent, at.AFTER] = world[at.FREE_EXTENT]
    world[at.FREE_EXTENT] = extent
    world[at.FREE_EXTENTS] += 1


@part
def unqueue(servers: Ints, extents: Ints, server: int, extent: int) -> None:
    """Out of the free queue."""
    before, after = extents[extent, at.BEFORE], extents[extent, at.AFTER]
    extents[before, at.AFTER], extents[after, at.BEFORE] = after, before
    servers[server, at.QUEUED] -= extents[extent, at.HIGH] - extents[extent, at.LOW]


@part
def queue_behind(extents: Ints, place: int, extent: int) -> None:
    """Into the free queue behind `place`; the caller counts its blocks."""
    after = extents[place, at.AFTER]
    extents[extent, at.BEFORE], extents[extent, at.AFTER] = place, after
    extents[place, at.AFTER], extents[after, at.BEFORE] = extent, extent


@part
def claim(
    world: Ints, servers: Ints, residences: Ints, extents: Ints,
    server: int, extent: int, low: int, high: int,
) -> int:  # fmt: skip
    """[low, high) of a free extent, held; the rest keeps its place in the queue."""
    if low == extents[extent, at.LOW] and high == extents[extent, at.HIGH]:
        unqueue(servers, extents, server, extent)
        extents[extent, at.USERS] = 1
        return extent
    residence = extents[extent, at.RESIDENCE]
    part = new_extent(world, extents, residence, low, high, 1)
    place_beside(residences, extents, extent, part)
    servers[server, at.QUEUED] -= high - low
    if high == extents[extent, at.HIGH]:
        extents[extent, at.HIGH] = low
    elif low == extents[extent, at.LOW]:
        extents[extent, at.LOW] = high
    else:
        rest = new_extent(world, extents, residence, extents[extent, at.LOW], low, 0)
        extents[rest, at.FREED] = extents[extent, at.FREED]
        place_beside(residences, extents, extent, rest)
        queue_behind(extents, extent, rest)
        extents[extent, at.LOW] = high
    return part


@part
def split(world: Ints, residences: Ints, extents: Ints, extent: int, block: int) -> int:
    """The part below `block` as an extent of its own, to which those who hold it are led."""
    part = new_extent(
        world, extents, extents[extent, at.RESIDENCE], extents[extent, at.LOW], block,
        extents[extent, at.USERS],
    )  # fmt: skip
    extents[part, at.LOWER] = extents[extent, at.LOWER]
    extents[extent, at.LOW], extents[extent, at.LOWER] = block, part
    place_beside(residences, extents, extent, part)
    return part


@part
def share(world: Ints, residences: Ints, extents: Ints, extent: int, low: int, high: int) -> int:
    """[low, high) of an extent that other jobs hold, held once more."""
    part = extent
    if high < extents[extent, at.HIGH]:
        part = split(world, residences, extents, extent, high)
    if low > extents[part, at.LOW]:
        split(world, residences, extents, part, low)
    extents[part, at.USERS] += 1
    return part


@part
def hold(
    world: Ints, jobs: Ints, holdings: Ints, job: int, extent: int, low: int, high: int
) -> None:
    """The job holds [low, high) of the extent."""
    holding = world[at.FREE_HOLDING]
    world[at.FREE_HOLDING] = holdings[holding, at.EARLIER]
    world[at.FREE_HOLDINGS] -= 1
    holdings[holding, at.HOLDS] = extent
    holdings[holding, at.HOLDS_LOW], holdings[holding, at.HOLDS_HIGH] = low, high
    holdings[holding, at.EARLIER] = jobs[job, at.HELD]
    jobs[job, at.HELD] = holding


@part
def touch(
    world: Ints, servers: Ints, jobs: Ints, pieces: Ints, residences: Ints, extents: Ints,
    holdings: Ints, server: int, job: int, hit: int,
) -> None:  # fmt: skip
    """Hold the `hit` blocks that `find` found."""
    block = 0
    for piece in range(jobs[job, at.PATH], jobs[job, at.PATH_END]):
        high = min(pieces[piece, at.PIECE_HIGH], hit)
        if block >= high:
            break
        residence = residence_of(world, server, job, pieces[piece, at.SEGMENT])
        while block < high:
            extent = oldest(residences, extents, residence, block)
            end = min(extents[extent, at.HIGH], high)
            if extents[extent, at.USERS] == 0:
                part = claim(world, servers, residences, extents, server, extent, block, end)
            else:
                part = share(world, residences, extents, extent, block, end)
            hold(world, jobs, holdings, job, part, block, end)
            block = end


@part
def take(
    world: Ints, servers: Ints, residences: Ints, extents: Ints, server: int, count: int
) -> None:
    """Free blocks for new content; hashed ones go from the head of the queue."""
    if count <= servers[server, at.UNHASHED]:
        servers[server, at.UNHASHED] -= count
        return
    count -= servers[server, at.UNHASHED]
    servers[server, at.UNHASHED] = 0
    servers[server, at.EVICTED] += count
    while count:
        extent = extents[server, at.AFTER]
        size = extents[extent, at.HIGH] - extents[extent, at.LOW]
        if size <= count:
            unqueue(servers, extents, server, extent)
            forget(world, residences, extents, extent)
            count -= size
        else:
            extents[extent, at.HIGH] -= count
            servers[server, at.QUEUED] -= count
            count = 0
