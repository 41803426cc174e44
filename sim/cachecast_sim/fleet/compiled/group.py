"""Jobs of one server in machine code: they prefill, decode, end and give way, as in `vllm`."""

import numpy as np
import numpy.typing as npt

from cachecast_sim.curve.jit import compiled
from cachecast_sim.fleet.compiled.columns import (
    BLOCK_TOKENS, BLOCKED, BLOCKS, COMPLETING, COMPUTED, CONTEXT, DECODES, DECODING, END, ENDED,
    FINISH, GENERATED, GROUP_STEPS, HERE, HIT, JOINED, KNOWN, LAST_TOKEN, NEVER, NEXT, NEXT_FINISH,
    NONE, OUTPUT, PAIRS, PARTIAL, PATH, PATH_END, PREEMPTED, PREEMPTIONS, PROMPT, READMITTED,
    REMAINING, REQUESTS, RUNNING, SCHEDULED, SEGMENT, SOMEWHERE, TOKENS, TOLD, WAITING,
    WAITING_LAST, HELD_TO, PIECE_HIGH, PIECE_LOW,
)  # fmt: skip
from cachecast_sim.fleet.compiled.pool import fill, release, residence_of, take

Ints = npt.NDArray[np.int64]


@compiled
def tell(world: Ints, told: Ints, kind: int, job: int, value: int) -> None:
    """One more row of what Python is to know."""
    row = world[TOLD]
    told[row, 0], told[row, 1], told[row, 2] = kind, job, value
    world[TOLD] = row + 1


@compiled
def prefill(
    world: Ints, servers: Ints, jobs: Ints, pieces: Ints, residences: Ints, extents: Ints,
    holdings: Ints, segments: Ints, server: int, job: int, tokens: int,
) -> None:  # fmt: skip
    """The job computes its next `tokens` tokens in this step."""
    before = jobs[job, COMPUTED]
    blocks = -(-(before + tokens) // world[BLOCK_TOKENS]) - jobs[job, BLOCKS]
    if blocks > 0:
        take(world, servers, residences, extents, server, blocks)
        jobs[job, BLOCKS] += blocks
    jobs[job, COMPUTED] = before + tokens
    jobs[job, REMAINING] -= tokens
    fill(
        world, jobs, pieces, residences, extents, holdings, segments, server, job, before + tokens
    )
    servers[server, BLOCKED] = 0
    servers[server, TOKENS] += tokens
    servers[server, REQUESTS] += 1
    servers[server, PAIRS] += tokens * before + tokens * (tokens + 1) // 2
    if jobs[job, REMAINING]:
        servers[server, PARTIAL] = job
        return
    servers[server, COMPLETING] += 1
    if servers[server, PARTIAL] == job:
        servers[server, PARTIAL] = NONE


@compiled
def join(world: Ints, servers: Ints, jobs: Ints, needs: Ints, server: int, job: int) -> None:
    """The job decodes from the next step on."""
    steps, size = servers[server, GROUP_STEPS], world[BLOCK_TOKENS]
    computed = jobs[job, COMPUTED]
    finish = steps + jobs[job, OUTPUT] - jobs[job, GENERATED]
    jobs[job, JOINED], jobs[job, FINISH], jobs[job, DECODES] = steps, finish, 1
    servers[server, DECODING] += 1
    servers[server, CONTEXT] += computed
    servers[server, NEXT_FINISH] = min(servers[server, NEXT_FINISH], finish)
    needs[server, (steps - computed) % size] += 1
    if jobs[job, KNOWN] * size > computed:
        jobs[job, DECODES] = 2  # it fills blocks that others may find
        needs[server, size + (steps - computed - 1) % size] += 1


@compiled
def leave(
    world: Ints, servers: Ints, jobs: Ints, needs: Ints, running: Ints, server: int, job: int
) -> int:
    """The job stops decoding. Its computed tokens."""
    steps, size = servers[server, GROUP_STEPS], world[BLOCK_TOKENS]
    since = steps - jobs[job, JOINED]
    computed = jobs[job, COMPUTED] + since
    jobs[job, GENERATED] += since
    servers[server, DECODING] -= 1
    servers[server, CONTEXT] -= computed
    needs[server, (steps - computed) % size] -= 1
    if jobs[job, DECODES] == 2:
        needs[server, size + (steps - computed - 1) % size] -= 1
    jobs[job, DECODES] = 0
    if jobs[job, FINISH] == servers[server, NEXT_FINISH]:
        first = NEVER
        for place in range(servers[server, RUNNING]):
            other = running[server, place]
            if jobs[other, DECODES]:
                first = min(first, jobs[other, FINISH])
        servers[server, NEXT_FINISH] = first
    return computed


@compiled
def give_back(
    world: Ints, servers: Ints, jobs: Ints, pieces: Ints, residences: Ints, extents: Ints,
    holdings: Ints, segments: Ints, running: Ints, server: int, job: int, computed: int,
    now_ns: int,
) -> None:  # fmt: skip
    """The job runs no more; nothing of its `computed` tokens stays held."""
    fill(world, jobs, pieces, residences, extents, holdings, segments, server, job, computed)
    release(world, servers, jobs, residences, extents, holdings, server, job, now_ns)
    jobs[job, COMPUTED] = 0
    servers[server, BLOCKED] = 0
    last = servers[server, RUNNING] - 1
    place = last
    while running[server, place] != job:
        place -= 1
    for at in range(place, last):
        running[server, at] = running[server, at + 1]
    servers[server, RUNNING] = last


@compiled
def finish(
    world: Ints, servers: Ints, jobs: Ints, pieces: Ints, residences: Ints, extents: Ints,
    holdings: Ints, segments: Ints, running: Ints, told: Ints, server: int, job: int,
    computed: int, now_ns: int,
) -> None:  # fmt: skip
    """The job has all its tokens."""
    jobs[job, BLOCKS] = -(-computed // world[BLOCK_TOKENS])
    give_back(
        world, servers, jobs, pieces, residences, extents, holdings, segments, running, server,
        job, computed, now_ns,
    )  # fmt: skip
    jobs[job, END] = now_ns
    tell(world, told, ENDED, job, now_ns)


@compiled
def preempt_last(
    world: Ints, servers: Ints, jobs: Ints, pieces: Ints, residences: Ints, extents: Ints,
    holdings: Ints, segments: Ints, needs: Ints, running: Ints, server: int, now_ns: int,
) -> int:  # fmt: skip
    """The last running job gives its blocks back and goes to the front of the queue. Which."""
    job = running[server, servers[server, RUNNING] - 1]
    if jobs[job, DECODES]:
        computed = leave(world, servers, jobs, needs, running, server, job)
        jobs[job, BLOCKS] = -(-computed // world[BLOCK_TOKENS])
        jobs[job, LAST_TOKEN] = now_ns
    else:
        computed = jobs[job, COMPUTED]
        servers[server, PARTIAL] = NONE
    give_back(
        world, servers, jobs, pieces, residences, extents, holdings, segments, running, server,
        job, computed, now_ns,
    )  # fmt: skip
    jobs[job, NEXT] = servers[server, WAITING]
    if servers[server, WAITING] == NONE:
        servers[server, WAITING_LAST] = job
    servers[server, WAITING] = job
    jobs[job, PREEMPTIONS] += 1
    servers[server, PREEMPTED] += 1
    return job


@compiled
def count_hits(
    world: Ints, jobs: Ints, pieces: Ints, residences: Ints, segments: Ints, told: Ints,
    server: int, job: int, hit: int, now_ns: int,
) -> None:  # fmt: skip
    """Once, at the first admission; what a preempted job finds again is told apart. With it, up to
    where this pool and any server ever held the prompt's whole blocks (`misses`)."""
    if jobs[job, SCHEDULED] != NONE:
        tell(world, told, READMITTED, job, hit * world[BLOCK_TOKENS])
        return
    jobs[job, SCHEDULED], jobs[job, HIT] = now_ns, hit
    whole = jobs[job, PROMPT] // world[BLOCK_TOKENS]
    here = somewhere = hit
    for piece in range(jobs[job, PATH], jobs[job, PATH_END]):
        low, high, segment = pieces[piece, PIECE_LOW], pieces[piece, PIECE_HIGH], pieces[piece, SEGMENT]
        if high <= hit:
            continue
        if low >= whole or segment == NONE or segments[segment] <= low:
            break
        somewhere = max(somewhere, min(high, segments[segment]))
        held_to = residences[residence_of(world, server, job, segment), HELD_TO]
        if held_to > low:
            here = max(here, min(high, held_to))
    jobs[job, HERE], jobs[job, SOMEWHERE] = here, somewhere
