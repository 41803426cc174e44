"""The block pool in machine code: `vllm.pool`, rule by rule, on tables instead of objects."""

import numpy as np
import numpy.typing as npt

from cachecast_sim.curve.jit import compiled
from cachecast_sim.fleet.compiled.columns import (
    AFTER, BEFORE, BLOCKS, EARLIER, EVICTED, EXTENTS, FILLED, FREE_EXTENT, FREE_EXTENTS,
    FREE_HOLDING, FREE_HOLDINGS, FREED, HELD, HELD_TO, HIGH, HOLDS, HOLDS_HIGH, HOLDS_LOW, LOW,
    LOWER, NONE, OLDER, OLDEST, PATH, PATH_END, PIECE_HIGH, PIECE_LOW, QUEUED, RESIDENCE, SEGMENT,
    SEGMENTS, SERVERS, UNHASHED, USERS, YOUNGER, YOUNGEST,
)  # fmt: skip

Ints = npt.NDArray[np.int64]


@compiled
def residence_of(world: Ints, server: int, job: int, segment: int) -> int:
    """The row of what the server has of the segment; a job's own lies behind all shared ones."""
    if segment == NONE:
        return world[SERVERS] * world[SEGMENTS] + job
    return server * world[SEGMENTS] + segment


@compiled
def oldest(residences: Ints, extents: Ints, residence: int, at: int) -> int:
    """The oldest extent with block `at`."""
    extent = residences[residence, OLDEST]
    while extent != NONE and not extents[extent, LOW] <= at < extents[extent, HIGH]:
        extent = extents[extent, YOUNGER]
    return extent


@compiled
def find(
    world: Ints, jobs: Ints, pieces: Ints, residences: Ints, extents: Ints,
    server: int, job: int, limit: int,
) -> tuple[int, int, int]:  # fmt: skip
    """The cached run at the start of a path, its free blocks, and how many extents it has."""
    at = free = parts = 0
    for piece in range(jobs[job, PATH], jobs[job, PATH_END]):
        high = min(pieces[piece, PIECE_HIGH], limit)
        if at >= high:
            break
        residence = residence_of(world, server, job, pieces[piece, SEGMENT])
        while at < high:
            extent = oldest(residences, extents, residence, at)
            if extent == NONE:
                return at, free, parts
            end = min(extents[extent, HIGH], high)
            if extents[extent, USERS] == 0:
                free += end - at
            parts += 1
            at = end
    return at, free, parts


@compiled
def new_extent(
    world: Ints, extents: Ints, residence: int, low: int, high: int, users: int
) -> int:
    """A row for it, in no list yet."""
    extent = world[FREE_EXTENT]
    world[FREE_EXTENT] = extents[extent, AFTER]
    world[FREE_EXTENTS] -= 1
    extents[extent, RESIDENCE] = residence
    extents[extent, LOW], extents[extent, HIGH] = low, high
    extents[extent, USERS], extents[extent, LOWER], extents[extent, FREED] = users, NONE, 0
    return extent


@compiled
def place_beside(residences: Ints, extents: Ints, extent: int, part: int) -> None:
    """`part` directly before `extent` in age."""
    residence, older = extents[extent, RESIDENCE], extents[extent, OLDER]
    extents[part, OLDER], extents[part, YOUNGER] = older, extent
    extents[extent, OLDER] = part
    if older == NONE:
        residences[residence, OLDEST] = part
    else:
        extents[older, YOUNGER] = part
    residences[residence, EXTENTS] += 1


@compiled
def forget(world: Ints, residences: Ints, extents: Ints, extent: int) -> None:
    """The extent leaves its residence, and its row is free."""
    residence = extents[extent, RESIDENCE]
    older, younger = extents[extent, OLDER], extents[extent, YOUNGER]
    if older == NONE:
        residences[residence, OLDEST] = younger
    else:
        extents[older, YOUNGER] = younger
    if younger == NONE:
        residences[residence, YOUNGEST] = older
    else:
        extents[younger, OLDER] = older
    residences[residence, EXTENTS] -= 1
    extents[extent, AFTER] = world[FREE_EXTENT]
    world[FREE_EXTENT] = extent
    world[FREE_EXTENTS] += 1


@compiled
def unqueue(servers: Ints, extents: Ints, server: int, extent: int) -> None:
    """Out of the free queue."""
    before, after = extents[extent, BEFORE], extents[extent, AFTER]
    extents[before, AFTER], extents[after, BEFORE] = after, before
    servers[server, QUEUED] -= extents[extent, HIGH] - extents[extent, LOW]


@compiled
def queue_behind(extents: Ints, place: int, extent: int) -> None:
    """Into the free queue behind `place`; the caller counts its blocks."""
    after = extents[place, AFTER]
    extents[extent, BEFORE], extents[extent, AFTER] = place, after
    extents[place, AFTER], extents[after, BEFORE] = extent, extent


@compiled
def claim(
    world: Ints, servers: Ints, residences: Ints, extents: Ints,
    server: int, extent: int, low: int, high: int,
) -> int:  # fmt: skip
    """[low, high) of a free extent, held; the rest keeps its place in the queue."""
    if low == extents[extent, LOW] and high == extents[extent, HIGH]:
        unqueue(servers, extents, server, extent)
        extents[extent, USERS] = 1
        return extent
    residence = extents[extent, RESIDENCE]
    part = new_extent(world, extents, residence, low, high, 1)
    place_beside(residences, extents, extent, part)
    servers[server, QUEUED] -= high - low
    if high == extents[extent, HIGH]:
        extents[extent, HIGH] = low
    elif low == extents[extent, LOW]:
        extents[extent, LOW] = high
    else:
        rest = new_extent(world, extents, residence, extents[extent, LOW], low, 0)
        extents[rest, FREED] = extents[extent, FREED]
        place_beside(residences, extents, extent, rest)
        queue_behind(extents, extent, rest)
        extents[extent, LOW] = high
    return part


@compiled
def split(world: Ints, residences: Ints, extents: Ints, extent: int, at: int) -> int:
    """The part below `at` as an extent of its own, to which those who hold it are led."""
    part = new_extent(
        world, extents, extents[extent, RESIDENCE], extents[extent, LOW], at,
        extents[extent, USERS],
    )  # fmt: skip
    extents[part, LOWER] = extents[extent, LOWER]
    extents[extent, LOW], extents[extent, LOWER] = at, part
    place_beside(residences, extents, extent, part)
    return part


@compiled
def share(
    world: Ints, residences: Ints, extents: Ints, extent: int, low: int, high: int
) -> int:
    """[low, high) of an extent that other jobs hold, held once more."""
    part = extent
    if high < extents[extent, HIGH]:
        part = split(world, residences, extents, extent, high)
    if low > extents[part, LOW]:
        split(world, residences, extents, part, low)
    extents[part, USERS] += 1
    return part


@compiled
def hold(
    world: Ints, jobs: Ints, holdings: Ints, job: int, extent: int, low: int, high: int
) -> None:
    """The job holds [low, high) of the extent."""
    holding = world[FREE_HOLDING]
    world[FREE_HOLDING] = holdings[holding, EARLIER]
    world[FREE_HOLDINGS] -= 1
    holdings[holding, HOLDS] = extent
    holdings[holding, HOLDS_LOW], holdings[holding, HOLDS_HIGH] = low, high
    holdings[holding, EARLIER] = jobs[job, HELD]
    jobs[job, HELD] = holding


@compiled
def touch(
    world: Ints, servers: Ints, jobs: Ints, pieces: Ints, residences: Ints, extents: Ints,
    holdings: Ints, server: int, job: int, hit: int,
) -> None:  # fmt: skip
    """Hold the `hit` blocks that `find` found."""
    at = 0
    for piece in range(jobs[job, PATH], jobs[job, PATH_END]):
        high = min(pieces[piece, PIECE_HIGH], hit)
        if at >= high:
            break
        residence = residence_of(world, server, job, pieces[piece, SEGMENT])
        while at < high:
            extent = oldest(residences, extents, residence, at)
            end = min(extents[extent, HIGH], high)
            if extents[extent, USERS] == 0:
                part = claim(world, servers, residences, extents, server, extent, at, end)
            else:
                part = share(world, residences, extents, extent, at, end)
            hold(world, jobs, holdings, job, part, at, end)
            at = end


@compiled
def take(
    world: Ints, servers: Ints, residences: Ints, extents: Ints, server: int, count: int
) -> None:
    """Free blocks for new content; hashed ones go from the head of the queue."""
    if count <= servers[server, UNHASHED]:
        servers[server, UNHASHED] -= count
        return
    count -= servers[server, UNHASHED]
    servers[server, UNHASHED] = 0
    servers[server, EVICTED] += count
    while count:
        extent = extents[server, AFTER]
        size = extents[extent, HIGH] - extents[extent, LOW]
        if size <= count:
            unqueue(servers, extents, server, extent)
            forget(world, residences, extents, extent)
            count -= size
        else:
            extents[extent, HIGH] -= count
            servers[server, QUEUED] -= count
            count = 0


@compiled
def is_top(residences: Ints, extents: Ints, extent: int) -> bool:
    """Whether nobody else holds or held what comes after it."""
    high = extents[extent, HIGH]
    other = residences[extents[extent, RESIDENCE], OLDEST]
    while other != NONE:
        if extents[other, HIGH] > high:
            return False
        other = extents[other, YOUNGER]
    return True


@compiled
def extend(
    world: Ints, jobs: Ints, residences: Ints, extents: Ints, holdings: Ints, segments: Ints,
    job: int, residence: int, segment: int, low: int, high: int,
) -> None:  # fmt: skip
    """Blocks [low, high) of one segment get their hashes."""
    if high > residences[residence, HELD_TO]:
        residences[residence, HELD_TO] = high
        if segment != NONE and high > segments[segment]:
            segments[segment] = high
    holding = jobs[job, HELD]
    if holding != NONE and holdings[holding, HOLDS_HIGH] == low:
        extent = holdings[holding, HOLDS]
        if extents[extent, RESIDENCE] == residence and extents[extent, USERS] == 1 and (
            residences[residence, EXTENTS] == 1 or is_top(residences, extents, extent)
        ):
            extents[extent, HIGH] = holdings[holding, HOLDS_HIGH] = high
            return
    extent = new_extent(world, extents, residence, low, high, 1)
    youngest = residences[residence, YOUNGEST]
    extents[extent, OLDER], extents[extent, YOUNGER] = youngest, NONE
    if youngest == NONE:
        residences[residence, OLDEST] = extent
    else:
        extents[youngest, YOUNGER] = extent
    residences[residence, YOUNGEST] = extent
    residences[residence, EXTENTS] += 1
    hold(world, jobs, holdings, job, extent, low, high)


@compiled
def fill(
    world: Ints, jobs: Ints, pieces: Ints, residences: Ints, extents: Ints, holdings: Ints,
    segments: Ints, server: int, job: int, computed: int,
) -> None:  # fmt: skip
    """`computed` tokens of the job have K and V: whole blocks among them get their hashes."""
    low, whole = jobs[job, FILLED], computed // world[0]
    if whole <= low:
        return
    jobs[job, FILLED] = whole
    for piece in range(jobs[job, PATH], jobs[job, PATH_END]):
        if pieces[piece, PIECE_HIGH] <= low:
            continue
        end = min(pieces[piece, PIECE_HIGH], whole)
        segment = pieces[piece, SEGMENT]
        extend(
            world, jobs, residences, extents, holdings, segments, job,
            residence_of(world, server, job, segment), segment,
            max(pieces[piece, PIECE_LOW], low), end,
        )  # fmt: skip
        if end == whole:
            return


@compiled
def append(
    world: Ints, servers: Ints, residences: Ints, extents: Ints, server: int, extent: int
) -> None:
    """To the tail of the free queue, joined to its last where that is the run's upper part."""
    last, size = extents[server, BEFORE], extents[extent, HIGH] - extents[extent, LOW]
    servers[server, QUEUED] += size
    residence = extents[extent, RESIDENCE]
    if (
        extents[last, RESIDENCE] == residence
        and extents[last, LOW] == extents[extent, HIGH]
        and extents[last, FREED] == extents[extent, FREED]
        and residences[residence, EXTENTS] == 2
    ):
        extents[last, LOW] = extents[extent, LOW]
        forget(world, residences, extents, extent)
    else:
        queue_behind(extents, last, extent)


@compiled
def release(
    world: Ints, servers: Ints, jobs: Ints, residences: Ints, extents: Ints, holdings: Ints,
    server: int, job: int, now_ns: int,
) -> None:  # fmt: skip
    """The job lets its blocks go, the last first, and has nothing."""
    servers[server, UNHASHED] += jobs[job, BLOCKS] - jobs[job, FILLED]
    holding = jobs[job, HELD]
    while holding != NONE:
        part, low = holdings[holding, HOLDS], holdings[holding, HOLDS_LOW]
        while part != NONE:
            lower = extents[part, LOWER] if extents[part, LOW] > low else NONE
            extents[part, USERS] -= 1
            if extents[part, USERS] == 0:
                extents[part, LOWER], extents[part, FREED] = NONE, now_ns
                append(world, servers, residences, extents, server, part)
            part = lower
        earlier = holdings[holding, EARLIER]
        holdings[holding, EARLIER] = world[FREE_HOLDING]
        world[FREE_HOLDING] = holding
        world[FREE_HOLDINGS] += 1
        holding = earlier
    jobs[job, HELD] = NONE
    jobs[job, BLOCKS] = jobs[job, FILLED] = 0
