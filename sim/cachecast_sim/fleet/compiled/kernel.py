"""All plain vLLM servers of a fleet in machine code, from one arrival to the next.

`vllm.server` and what it calls is the law; property tests hold this copy equal to it. Here every
step is taken by itself: nothing has to be known of a stretch in advance then.
"""

import numpy as np
import numpy.typing as npt

from cachecast_sim.curve.jit import compiled
from cachecast_sim.fleet.compiled.columns import (
    BESIDE, BESIDE_CONTEXT, BLOCK_TOKENS, BUSY, DONE, DURATION, FREE_EXTENTS, FREE_HOLDINGS, GAPS,
    GROW, MAX_SEQS, MOST_PIECES, NEVER, NONE, NOW, PAIRS, PROMPT, REQUESTS, RESUME, RUNNING,
    SAMPLE, SAMPLED, SAMPLING, SERVERS, STOP_AT_END, TELL, TOKENS, TOLD, TOO_LATE,
)  # fmt: skip
from cachecast_sim.fleet.compiled.pool import find
from cachecast_sim.fleet.compiled.schedule import admit, end_step, schedule
from cachecast_sim.fleet.compiled.step_time import step_ns

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@compiled
def matched_blocks(
    world: Ints, jobs: Ints, pieces: Ints, residences: Ints, extents: Ints, job: int, found: Ints
) -> None:
    """`found` gets the blocks at the front of the job's prompt that each server has."""
    limit = (jobs[job, PROMPT] - 1) // world[BLOCK_TOKENS]
    for server in range(world[SERVERS]):
        found[server] = find(world, jobs, pieces, residences, extents, server, job, limit)[0]


@compiled
def no_room(world: Ints, servers: Ints, told: Ints, gaps: Ints, server: int) -> int:
    """What has to be done before a boundary of the server: TELL, GROW or, mostly, nothing (DONE)."""
    if len(told) - world[TOLD] < 2 * world[MAX_SEQS] or len(gaps) - world[GAPS] < world[MAX_SEQS] + 1:
        return TELL
    rows = (servers[server, RUNNING] + 2) * world[MOST_PIECES]
    if world[FREE_EXTENTS] < rows or world[FREE_HOLDINGS] < rows:
        return GROW
    return DONE


@compiled
def run_until(
    world: Ints, servers: Ints, jobs: Ints, pieces: Ints, residences: Ints, extents: Ints,
    holdings: Ints, segments: Ints, needs: Ints, running: Ints, told: Ints, gaps: Ints,
    when: Ints, whole: Ints, real: Floats, experts: Floats, until_ns: int,
) -> int:  # fmt: skip
    """Every step boundary before `until_ns`, in the order of time and of the servers' numbers.

    DONE, or why it came back before: call again when that has been seen to.
    """
    while True:
        server = world[RESUME]
        resumed = server != NONE
        if not resumed:
            server = np.argmin(when)
        now_ns = when[server]
        if now_ns >= until_ns:
            return DONE
        if now_ns >= NEVER >> 1:
            return TOO_LATE
        sampling = now_ns >= servers[server, SAMPLE]
        if not resumed:
            if sampling and world[TOLD]:
                return TELL  # who has ended before is to be known before
            problem = no_room(world, servers, told, gaps, server)
            if problem != DONE:
                return problem
            if servers[server, BUSY]:
                end_step(
                    world, servers, jobs, pieces, residences, extents, holdings, segments, needs,
                    running, told, gaps, server, now_ns,
                )  # fmt: skip
        world[RESUME] = NONE
        if resumed or schedule(
            world, servers, jobs, pieces, residences, extents, holdings, segments, needs, running,
            server, now_ns,
        ):  # fmt: skip
            if not admit(
                world, servers, jobs, pieces, residences, extents, holdings, segments, running,
                told, server, now_ns,
            ):  # fmt: skip
                world[RESUME] = server
                return GROW
        begins = servers[server, BUSY] or servers[server, REQUESTS] or servers[server, BESIDE]
        servers[server, BUSY] = 1 if begins else 0
        when[server] = NEVER
        if begins:
            duration_ns = step_ns(
                whole, real, experts, servers[server, TOKENS], servers[server, REQUESTS],
                servers[server, PAIRS], servers[server, BESIDE], servers[server, BESIDE_CONTEXT],
            )  # fmt: skip
            servers[server, DURATION] = duration_ns
            when[server] = now_ns + duration_ns
        if sampling:
            world[SAMPLED], world[NOW] = server, now_ns
            return SAMPLING
        if world[STOP_AT_END] and world[TOLD]:
            return TELL
