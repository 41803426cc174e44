"""One server's next step in machine code: `vllm.server` and what it calls, a step at a time."""

import numpy as np
import numpy.typing as npt

from cachecast_sim.curve.jit import compiled
from cachecast_sim.fleet.compiled.columns import (
    BESIDE, BESIDE_CONTEXT, BLOCK_TOKENS, BLOCKED, BLOCKS, BUDGET, BUSY, COMPLETING, COMPUTED,
    CONTEXT, DECODES, DECODING, DURATION, FILLED, FINISH, FIRST_TOKEN, FREE_EXTENTS, FREE_HOLDINGS,
    GAPS, GENERATED, GROUP_STEPS, JOINED, KNOWN, LAST_TOKEN, MAX_BATCH, MAX_SEQS, MOST_PIECES,
    NEXT, NEXT_FINISH, NONE, OUTPUT, PAIRS, PARTIAL, PROMPT, QUEUED, REMAINING, REQUESTS, RUNNING,
    STEPS, TOKENS, UNHASHED, WAITING, WAITING_LAST,
)  # fmt: skip
from cachecast_sim.fleet.compiled.group import (
    count_hits, finish, join, leave, preempt_last, prefill,
)  # fmt: skip
from cachecast_sim.fleet.compiled.pool import fill, find, take, touch

Ints = npt.NDArray[np.int64]


@compiled
def add_gap(world: Ints, gaps: Ints, gap_ns: int, times: int) -> None:
    """So many gaps of one length."""
    row = world[GAPS]
    if row and gaps[row - 1, 0] == gap_ns:
        gaps[row - 1, 1] += times
        return
    gaps[row, 0], gaps[row, 1] = gap_ns, times
    world[GAPS] = row + 1


@compiled
def end_step(
    world: Ints, servers: Ints, jobs: Ints, pieces: Ints, residences: Ints, extents: Ints,
    holdings: Ints, segments: Ints, needs: Ints, running: Ints, told: Ints, gaps: Ints,
    server: int, now_ns: int,
) -> None:  # fmt: skip
    """The step ends: tokens appear, jobs finish or begin to decode."""
    servers[server, STEPS] += 1
    if servers[server, DECODING]:
        add_gap(world, gaps, servers[server, DURATION], servers[server, DECODING])
    steps, place = servers[server, GROUP_STEPS], 0
    while servers[server, NEXT_FINISH] <= steps:
        job = running[server, place]
        if jobs[job, DECODES] and jobs[job, FINISH] <= steps:
            computed = leave(world, servers, jobs, needs, running, server, job)
            finish(
                world, servers, jobs, pieces, residences, extents, holdings, segments, running,
                told, server, job, computed, now_ns,
            )  # fmt: skip
        else:
            place += 1
    place = 0
    if servers[server, COMPLETING]:
        place = servers[server, RUNNING] - servers[server, COMPLETING]
        place -= servers[server, PARTIAL] != NONE
    for _ in range(servers[server, COMPLETING]):
        job = running[server, place]
        jobs[job, GENERATED] += 1
        if jobs[job, FIRST_TOKEN] == NONE:
            jobs[job, FIRST_TOKEN] = now_ns
        else:  # a readmitted job goes on where it was preempted
            add_gap(world, gaps, now_ns - jobs[job, LAST_TOKEN], 1)
        if jobs[job, GENERATED] >= jobs[job, OUTPUT]:
            finish(
                world, servers, jobs, pieces, residences, extents, holdings, segments, running,
                told, server, job, jobs[job, COMPUTED], now_ns,
            )  # fmt: skip
        else:
            join(world, servers, jobs, needs, server, job)
            place += 1


@compiled
def decode(
    world: Ints, servers: Ints, jobs: Ints, pieces: Ints, residences: Ints, extents: Ints,
    holdings: Ints, segments: Ints, needs: Ints, running: Ints, server: int, blocks: int,
) -> None:  # fmt: skip
    """The decoding jobs' next step: their blocks, and hashes of full ones."""
    steps, size = servers[server, GROUP_STEPS], world[BLOCK_TOKENS]
    if blocks:
        take(world, servers, residences, extents, server, blocks)
    if needs[server, size + steps % size]:
        servers[server, BLOCKED] = 0
        for place in range(servers[server, RUNNING]):
            job = running[server, place]
            computed = jobs[job, COMPUTED] + steps + 1 - jobs[job, JOINED]
            if jobs[job, DECODES] == 2 and computed % size == 0:
                fill(
                    world, jobs, pieces, residences, extents, holdings, segments, server, job,
                    computed,
                )  # fmt: skip
    servers[server, GROUP_STEPS] += 1
    servers[server, CONTEXT] += servers[server, DECODING]


@compiled
def schedule_scarce(
    world: Ints, servers: Ints, jobs: Ints, pieces: Ints, residences: Ints, extents: Ints,
    holdings: Ints, segments: Ints, needs: Ints, running: Ints, server: int, now_ns: int,
) -> None:  # fmt: skip
    """Too few free blocks: one job after the other gets its own, the last ones give way."""
    budget, size, place = world[MAX_BATCH], world[BLOCK_TOKENS], 0
    while place < servers[server, RUNNING]:
        job = running[server, place]
        decoding = jobs[job, DECODES] != 0
        since = servers[server, GROUP_STEPS] - jobs[job, JOINED]
        if decoding:
            tokens, needed = 1, 0 if (jobs[job, COMPUTED] + since) % size else 1
        else:
            tokens = min(jobs[job, REMAINING], budget)
            needed = max(0, -(-(jobs[job, COMPUTED] + tokens) // size) - jobs[job, BLOCKS])
        gone = NONE
        while needed > servers[server, UNHASHED] + servers[server, QUEUED] and gone != job:
            gone = preempt_last(
                world, servers, jobs, pieces, residences, extents, holdings, segments, needs,
                running, server, now_ns,
            )  # fmt: skip
        if gone == job:
            break
        budget -= tokens
        place += 1
        if not decoding:
            prefill(
                world, servers, jobs, pieces, residences, extents, holdings, segments, server,
                job, tokens,
            )  # fmt: skip
            continue
        take(world, servers, residences, extents, server, needed)
        if jobs[job, FILLED] < jobs[job, KNOWN]:
            fill(
                world, jobs, pieces, residences, extents, holdings, segments, server, job,
                jobs[job, COMPUTED] + since + 1,
            )  # fmt: skip
    servers[server, BESIDE] = servers[server, DECODING]
    servers[server, BESIDE_CONTEXT] = servers[server, CONTEXT] + servers[server, DECODING]
    servers[server, GROUP_STEPS] += 1
    servers[server, CONTEXT] += servers[server, DECODING]


@compiled
def admit(
    world: Ints, servers: Ints, jobs: Ints, pieces: Ints, residences: Ints, extents: Ints,
    holdings: Ints, segments: Ints, running: Ints, told: Ints, server: int, now_ns: int,
) -> bool:  # fmt: skip
    """Waiting jobs in their order, until one does not fit. False: larger tables are needed first;
    nothing has happened to the job at the front then."""
    size, budget = world[BLOCK_TOKENS], servers[server, BUDGET]
    while (
        budget and servers[server, WAITING] != NONE and servers[server, RUNNING] < world[MAX_SEQS]
    ):
        job = servers[server, WAITING]
        total = jobs[job, PROMPT] + jobs[job, GENERATED]
        hit, free, parts = find(
            world, jobs, pieces, residences, extents, server, job, (total - 1) // size
        )
        needed = -(-total // size) - hit
        if needed + free > servers[server, UNHASHED] + servers[server, QUEUED]:
            servers[server, BLOCKED] = 1
            break
        rows = 2 * parts + world[MOST_PIECES]
        if world[FREE_EXTENTS] < rows or world[FREE_HOLDINGS] < rows:
            servers[server, BUDGET] = budget
            return False
        servers[server, WAITING] = jobs[job, NEXT]
        if jobs[job, NEXT] == NONE:
            servers[server, WAITING_LAST] = NONE
        touch(
            world, servers, jobs, pieces, residences, extents, holdings, server, job, hit
        )
        jobs[job, BLOCKS] = jobs[job, FILLED] = hit
        running[server, servers[server, RUNNING]] = job
        servers[server, RUNNING] += 1
        count_hits(world, jobs, pieces, residences, segments, told, server, job, hit, now_ns)
        jobs[job, COMPUTED] = hit * size
        jobs[job, REMAINING] = total - hit * size
        tokens = min(jobs[job, REMAINING], budget)
        prefill(
            world, servers, jobs, pieces, residences, extents, holdings, segments, server, job,
            tokens,
        )  # fmt: skip
        budget -= tokens
    return True


@compiled
def schedule(
    world: Ints, servers: Ints, jobs: Ints, pieces: Ints, residences: Ints, extents: Ints,
    holdings: Ints, segments: Ints, needs: Ints, running: Ints, server: int, now_ns: int,
) -> bool:  # fmt: skip
    """What the next step computes of those that run. Whether others may be admitted to it."""
    servers[server, TOKENS] = servers[server, REQUESTS] = servers[server, PAIRS] = 0
    servers[server, COMPLETING] = 0
    decodes, partial = servers[server, DECODING], servers[server, PARTIAL]
    servers[server, BESIDE] = decodes
    servers[server, BESIDE_CONTEXT] = servers[server, CONTEXT] + decodes
    budget, size = world[MAX_BATCH] - decodes, world[BLOCK_TOKENS]
    chunk = needed = 0
    decode_blocks = needs[server, servers[server, GROUP_STEPS] % size] if decodes else 0
    if partial != NONE:
        chunk = min(jobs[partial, REMAINING], budget)
        needed = max(0, -(-(jobs[partial, COMPUTED] + chunk) // size) - jobs[partial, BLOCKS])
    if decode_blocks + needed > servers[server, UNHASHED] + servers[server, QUEUED]:
        schedule_scarce(
            world, servers, jobs, pieces, residences, extents, holdings, segments, needs,
            running, server, now_ns,
        )  # fmt: skip
        servers[server, BUSY] = 1
        return False
    if decodes:
        decode(
            world, servers, jobs, pieces, residences, extents, holdings, segments, needs, running,
            server, decode_blocks,
        )  # fmt: skip
    if partial != NONE:
        prefill(
            world, servers, jobs, pieces, residences, extents, holdings, segments, server, partial,
            chunk,
        )  # fmt: skip
    servers[server, BUDGET] = budget - chunk
    servers[server, BUSY] = 0
    return servers[server, BLOCKED] == 0
