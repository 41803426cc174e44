"""One server's next step in machine code: `vllm.server` and what it calls, a step at a time."""

import numpy as np
import numpy.typing as npt

from cachecast_sim.curve.jit import part
from cachecast_sim.fleet.compiled import columns as at
from cachecast_sim.fleet.compiled.blocks import fill
from cachecast_sim.fleet.compiled.group import (
    count_hits,
    finish,
    join,
    leave,
    preempt_last,
    prefill,
    tell,
)  # fmt: skip
from cachecast_sim.fleet.compiled.pool import find, take, touch

Ints = npt.NDArray[np.int64]


@part
def add_gap(world: Ints, told: Ints, gaps: Ints, gap_ns: int, times: int) -> None:
    """So many gaps of one length."""
    bits = world[at.TIMES_BITS]
    if gap_ns >> (at.LENGTH_BITS - bits):
        tell(world, told, at.LONG_GAP, times, gap_ns)
        return
    gaps[world[at.GAPS]] = gap_ns << bits | times
    world[at.GAPS] += 1


@part
def end_step(
    world: Ints, servers: Ints, jobs: Ints, pieces: Ints, residences: Ints, extents: Ints,
    holdings: Ints, segments: Ints, needs: Ints, running: Ints, told: Ints, gaps: Ints,
    server: int, now_ns: int,
) -> None:  # fmt: skip
    """The step ends: tokens appear, jobs finish or begin to decode."""
    servers[server, at.STEPS] += 1
    if servers[server, at.DECODING]:
        add_gap(world, told, gaps, servers[server, at.DURATION], servers[server, at.DECODING])
    steps, place = servers[server, at.GROUP_STEPS], 0
    while servers[server, at.NEXT_FINISH] <= steps:
        job = running[server, place]
        if jobs[job, at.DECODES] and jobs[job, at.FINISH] <= steps:
            computed = leave(world, servers, jobs, needs, running, server, job)
            finish(
                world, servers, jobs, pieces, residences, extents, holdings, segments, running,
                told, server, job, computed, now_ns,
            )  # fmt: skip
        else:
            place += 1
    place = 0
    if servers[server, at.COMPLETING]:
        place = servers[server, at.RUNNING] - servers[server, at.COMPLETING]
        place -= servers[server, at.PARTIAL] != at.NONE
    for _ in range(servers[server, at.COMPLETING]):
        job = running[server, place]
        jobs[job, at.GENERATED] += 1
        if jobs[job, at.FIRST_TOKEN] == at.NONE:
            jobs[job, at.FIRST_TOKEN] = now_ns
        else:  # a readmitted job goes on where it was preempted
            add_gap(world, told, gaps, now_ns - jobs[job, at.LAST_TOKEN], 1)
        if jobs[job, at.GENERATED] >= jobs[job, at.OUTPUT]:
            finish(
                world, servers, jobs, pieces, residences, extents, holdings, segments, running,
                told, server, job, jobs[job, at.COMPUTED], now_ns,
            )  # fmt: skip
        else:
            join(world, servers, jobs, needs, server, job)
            place += 1


@part
def decode(
    world: Ints, servers: Ints, jobs: Ints, pieces: Ints, residences: Ints, extents: Ints,
    holdings: Ints, segments: Ints, needs: Ints, running: Ints, server: int, blocks: int,
) -> None:  # fmt: skip
    """The decoding jobs' next step: their blocks, and hashes of full ones."""
    steps, size = servers[server, at.GROUP_STEPS], world[at.BLOCK_TOKENS]
    if blocks:
        take(world, servers, residences, extents, server, blocks)
    if needs[server, size + steps % size]:
        servers[server, at.BLOCKED] = 0
        for place in range(servers[server, at.RUNNING]):
            job = running[server, place]
            computed = jobs[job, at.COMPUTED] + steps + 1 - jobs[job, at.JOINED]
            if jobs[job, at.DECODES] == 2 and computed % size == 0:
                fill(
                    world, jobs, pieces, residences, extents, holdings, segments, server, job,
                    computed,
                )  # fmt: skip
    servers[server, at.GROUP_STEPS] += 1
    servers[server, at.CONTEXT] += servers[server, at.DECODING]


@part
def schedule_scarce(
    world: Ints, servers: Ints, jobs: Ints, pieces: Ints, residences: Ints, extents: Ints,
    holdings: Ints, segments: Ints, needs: Ints, running: Ints, server: int, now_ns: int,
) -> None:  # fmt: skip
    """Too few free blocks: one job after the other gets its own, the last ones give way."""
    budget, size, place = world[at.MAX_BATCH], world[at.BLOCK_TOKENS], 0
    while place < servers[server, at.RUNNING]:
        job = running[server, place]
        decoding = jobs[job, at.DECODES] != 0
        since = servers[server, at.GROUP_STEPS] - jobs[job, at.JOINED]
        if decoding:
            tokens, needed = 1, 0 if (jobs[job, at.COMPUTED] + since) % size else 1
        else:
            tokens = min(jobs[job, at.REMAINING], budget)
            needed = max(0, -(-(jobs[job, at.COMPUTED] + tokens) // size) - jobs[job, at.BLOCKS])
        gone = at.NONE
        while needed > servers[server, at.UNHASHED] + servers[server, at.QUEUED] and gone != job:
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
        if jobs[job, at.FILLED] < jobs[job, at.KNOWN]:
            fill(
                world, jobs, pieces, residences, extents, holdings, segments, server, job,
                jobs[job, at.COMPUTED] + since + 1,
            )  # fmt: skip
    servers[server, at.BESIDE] = servers[server, at.DECODING]
    servers[server, at.BESIDE_CONTEXT] = servers[server, at.CONTEXT] + servers[server, at.DECODING]
    servers[server, at.GROUP_STEPS] += 1
    servers[server, at.CONTEXT] += servers[server, at.DECODING]


@part
def admit(
    world: Ints, servers: Ints, jobs: Ints, pieces: Ints, residences: Ints, extents: Ints,
    holdings: Ints, segments: Ints, running: Ints, told: Ints, server: int, now_ns: int,
) -> bool:  # fmt: skip
    """Waiting jobs in their order, until one does not fit. False: larger tables are needed first;
    nothing has happened to the job at the front then."""
    size, budget = world[at.BLOCK_TOKENS], servers[server, at.BUDGET]
    while (
        budget
        and servers[server, at.WAITING] != at.NONE
        and servers[server, at.RUNNING] < world[at.MAX_SEQS]
    ):
        job = servers[server, at.WAITING]
        total = jobs[job, at.PROMPT] + jobs[job, at.GENERATED]
        hit, free, parts = find(
            world, jobs, pieces, residences, extents, server, job, (total - 1) // size
        )
        needed = -(-total // size) - hit
        if needed + free > servers[server, at.UNHASHED] + servers[server, at.QUEUED]:
            servers[server, at.BLOCKED] = 1
            break
        rows = 2 * parts + world[at.MOST_PIECES]
        if world[at.FREE_EXTENTS] < rows or world[at.FREE_HOLDINGS] < rows:
            servers[server, at.BUDGET] = budget
            return False
        servers[server, at.WAITING] = jobs[job, at.NEXT]
        if jobs[job, at.NEXT] == at.NONE:
            servers[server, at.WAITING_LAST] = at.NONE
        touch(world, servers, jobs, pieces, residences, extents, holdings, server, job, hit)
        jobs[job, at.BLOCKS] = jobs[job, at.FILLED] = hit
        running[server, servers[server, at.RUNNING]] = job
        servers[server, at.RUNNING] += 1
        count_hits(world, jobs, pieces, residences, segments, told, server, job, hit, now_ns)
        jobs[job, at.COMPUTED] = hit * size
        jobs[job, at.REMAINING] = total - hit * size
        tokens = min(jobs[job, at.REMAINING], budget)
        prefill(
            world, servers, jobs, pieces, residences, extents, holdings, segments, server, job,
            tokens,
        )  # fmt: skip
        budget -= tokens
    return True


@part
def schedule(
    world: Ints, servers: Ints, jobs: Ints, pieces: Ints, residences: Ints, extents: Ints,
    holdings: Ints, segments: Ints, needs: Ints, running: Ints, server: int, now_ns: int,
) -> bool:  # fmt: skip
    """What the next step computes of those that run. Whether others may be admitted to it."""
    servers[server, at.TOKENS] = servers[server, at.REQUESTS] = servers[server, at.PAIRS] = 0
    servers[server, at.COMPLETING] = 0
    decodes, partial = servers[server, at.DECODING], servers[server, at.PARTIAL]
    servers[server, at.BESIDE] = decodes
    servers[server, at.BESIDE_CONTEXT] = servers[server, at.CONTEXT] + decodes
    budget, size = world[at.MAX_BATCH] - decodes, world[at.BLOCK_TOKENS]
    chunk = needed = 0
    decode_blocks = needs[server, servers[server, at.GROUP_STEPS] % size] if decodes else 0
    if partial != at.NONE:
        chunk = min(jobs[partial, at.REMAINING], budget)
        needed = max(0, -(-(jobs[partial, at.COMPUTED] + chunk) // size) - jobs[partial, at.BLOCKS])
    if decode_blocks + needed > servers[server, at.UNHASHED] + servers[server, at.QUEUED]:
        schedule_scarce(
            world, servers, jobs, pieces, residences, extents, holdings, segments, needs,
            running, server, now_ns,
        )  # fmt: skip
        servers[server, at.BUSY] = 1
        return False
    if decodes:
        decode(
            world, servers, jobs, pieces, residences, extents, holdings, segments, needs, running,
            server, decode_blocks,
        )  # fmt: skip
    if partial != at.NONE:
        prefill(
            world, servers, jobs, pieces, residences, extents, holdings, segments, server, partial,
            chunk,
        )  # fmt: skip
    servers[server, at.BUDGET] = budget - chunk
    servers[server, at.BUSY] = 0
    fits: bool = servers[server, at.BLOCKED] == 0
    return fits
