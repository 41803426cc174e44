"""Jobs of one server in machine code: they prefill, decode, end and give way, as in `vllm`."""

import numpy as np
import numpy.typing as npt

from cachecast_sim.curve.jit import part
from cachecast_sim.fleet.compiled import columns as at
from cachecast_sim.fleet.compiled.blocks import fill, release
from cachecast_sim.fleet.compiled.pool import residence_of, take

Ints = npt.NDArray[np.int64]


@part
def tell(world: Ints, told: Ints, kind: int, job: int, value: int) -> None:
    """One more row of what Python is to know."""
    row = world[at.TOLD]
    told[row, 0], told[row, 1], told[row, 2] = kind, job, value
    world[at.TOLD] = row + 1


@part
def prefill(
    world: Ints, servers: Ints, jobs: Ints, pieces: Ints, residences: Ints, extents: Ints,
    holdings: Ints, segments: Ints, server: int, job: int, tokens: int,
) -> None:  # fmt: skip
    """The job computes its next `tokens` tokens in this step."""
    before = jobs[job, at.COMPUTED]
    blocks = -(-(before + tokens) // world[at.BLOCK_TOKENS]) - jobs[job, at.BLOCKS]
    if blocks > 0:
        take(world, servers, residences, extents, server, blocks)
        jobs[job, at.BLOCKS] += blocks
    jobs[job, at.COMPUTED] = before + tokens
    jobs[job, at.REMAINING] -= tokens
    fill(world, jobs, pieces, residences, extents, holdings, segments, server, job, before + tokens)
    servers[server, at.BLOCKED] = 0
    servers[server, at.TOKENS] += tokens
    servers[server, at.REQUESTS] += 1
    servers[server, at.PAIRS] += tokens * before + tokens * (tokens + 1) // 2
    if jobs[job, at.REMAINING]:
        servers[server, at.PARTIAL] = job
        return
    servers[server, at.COMPLETING] += 1
    if servers[server, at.PARTIAL] == job:
        servers[server, at.PARTIAL] = at.NONE


@part
def join(world: Ints, servers: Ints, jobs: Ints, needs: Ints, server: int, job: int) -> None:
    """The job decodes from the next step on."""
    steps, size = servers[server, at.GROUP_STEPS], world[at.BLOCK_TOKENS]
    computed = jobs[job, at.COMPUTED]
    finish = steps + jobs[job, at.OUTPUT] - jobs[job, at.GENERATED]
    jobs[job, at.JOINED], jobs[job, at.FINISH], jobs[job, at.DECODES] = steps, finish, 1
    servers[server, at.DECODING] += 1
    servers[server, at.CONTEXT] += computed
    servers[server, at.NEXT_FINISH] = min(servers[server, at.NEXT_FINISH], finish)
    needs[server, (steps - computed) % size] += 1
    if jobs[job, at.KNOWN] * size > computed:
        jobs[job, at.DECODES] = 2  # it fills blocks that others may find
        servers[server, at.FILLING] += 1
        needs[server, size + (steps - computed - 1) % size] += 1


@part
def leave(
    world: Ints, servers: Ints, jobs: Ints, needs: Ints, running: Ints, server: int, job: int
) -> int:
    """The job stops decoding. Its computed tokens."""
    steps, size = servers[server, at.GROUP_STEPS], world[at.BLOCK_TOKENS]
    since = steps - jobs[job, at.JOINED]
    computed: int = jobs[job, at.COMPUTED] + since
    jobs[job, at.GENERATED] += since
    servers[server, at.DECODING] -= 1
    servers[server, at.CONTEXT] -= computed
    needs[server, (steps - computed) % size] -= 1
    if jobs[job, at.DECODES] == 2:
        servers[server, at.FILLING] -= 1
        needs[server, size + (steps - computed - 1) % size] -= 1
    jobs[job, at.DECODES] = 0
    if jobs[job, at.FINISH] == servers[server, at.NEXT_FINISH]:
        first = at.NEVER
        for place in range(servers[server, at.RUNNING]):
            other = running[server, place]
            if jobs[other, at.DECODES]:
                first = min(first, jobs[other, at.FINISH])
        servers[server, at.NEXT_FINISH] = first
    return computed


@part
def give_back(
    world: Ints, servers: Ints, jobs: Ints, pieces: Ints, residences: Ints, extents: Ints,
    holdings: Ints, segments: Ints, running: Ints, server: int, job: int, computed: int,
    now_ns: int,
) -> None:  # fmt: skip
    """The job runs no more; nothing of its `computed` tokens stays held."""
    fill(world, jobs, pieces, residences, extents, holdings, segments, server, job, computed)
    release(world, servers, jobs, residences, extents, holdings, server, job, now_ns)
    jobs[job, at.COMPUTED] = 0
    servers[server, at.BLOCKED] = 0
    last = servers[server, at.RUNNING] - 1
    place = last
    while running[server, place] != job:
        place -= 1
    for later in range(place, last):
        running[server, later] = running[server, later + 1]
    servers[server, at.RUNNING] = last


@part
def finish(
    world: Ints, servers: Ints, jobs: Ints, pieces: Ints, residences: Ints, extents: Ints,
    holdings: Ints, segments: Ints, running: Ints, told: Ints, server: int, job: int,
    computed: int, now_ns: int,
) -> None:  # fmt: skip
    """The job has all its tokens."""
    jobs[job, at.BLOCKS] = -(-computed // world[at.BLOCK_TOKENS])
    give_back(
        world, servers, jobs, pieces, residences, extents, holdings, segments, running, server,
        job, computed, now_ns,
    )  # fmt: skip
    jobs[job, at.END] = now_ns
    tell(world, told, at.ENDED, job, now_ns)


@part
def preempt_last(
    world: Ints, servers: Ints, jobs: Ints, pieces: Ints, residences: Ints, extents: Ints,
    holdings: Ints, segments: Ints, needs: Ints, running: Ints, server: int, now_ns: int,
) -> int:  # fmt: skip
    """The last running job gives its blocks back and goes to the front of the queue. Which."""
    job: int = running[server, servers[server, at.RUNNING] - 1]
    if jobs[job, at.DECODES]:
        computed = leave(world, servers, jobs, needs, running, server, job)
        jobs[job, at.BLOCKS] = -(-computed // world[at.BLOCK_TOKENS])
        jobs[job, at.LAST_TOKEN] = now_ns
    else:
        computed = jobs[job, at.COMPUTED]
        servers[server, at.PARTIAL] = at.NONE
    give_back(
        world, servers, jobs, pieces, residences, extents, holdings, segments, running, server,
        job, computed, now_ns,
    )  # fmt: skip
    jobs[job, at.NEXT] = servers[server, at.WAITING]
    if servers[server, at.WAITING] == at.NONE:
        servers[server, at.WAITING_LAST] = job
    servers[server, at.WAITING] = job
    jobs[job, at.PREEMPTIONS] += 1
    servers[server, at.PREEMPTED] += 1
    return job


@part
def count_hits(
    world: Ints, jobs: Ints, pieces: Ints, residences: Ints, segments: Ints, told: Ints,
    server: int, job: int, hit: int, now_ns: int,
) -> None:  # fmt: skip
    """Once, at the first admission; what a preempted job finds again is told apart. With it, up to
    where this pool and any server ever held the prompt's whole blocks (`misses`)."""
    if jobs[job, at.SCHEDULED] != at.NONE:
        tell(world, told, at.READMITTED, job, hit * world[at.BLOCK_TOKENS])
        return
    jobs[job, at.SCHEDULED], jobs[job, at.HIT] = now_ns, hit
    whole = jobs[job, at.PROMPT] // world[at.BLOCK_TOKENS]
    here = somewhere = hit
    for piece in range(jobs[job, at.PATH], jobs[job, at.PATH_END]):
        low, high, segment = (
            pieces[piece, at.PIECE_LOW],
            pieces[piece, at.PIECE_HIGH],
            pieces[piece, at.SEGMENT],
        )
        if high <= hit:
            continue
        if low >= whole or segment == at.NONE or segments[segment] <= low:
            break
        somewhere = max(somewhere, min(high, segments[segment]))
        held_to = residences[residence_of(world, server, job, segment), at.HELD_TO]
        if held_to > low:
            here = max(here, min(high, held_to))
    jobs[job, at.HERE], jobs[job, at.SOMEWHERE] = here, somewhere
