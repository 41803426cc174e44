"""All plain vLLM servers of a fleet in machine code, from one arrival to the next.

`vllm.server` and what it calls is the law; property tests hold this copy equal to it. Here every
step is taken by itself: nothing has to be known of a stretch in advance then.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from cachecast_sim.curve.jit import compiled_for_many_calls, made_of, part
from cachecast_sim.fleet.compiled import blocks, columns, group, pool, step_time, stretch
from cachecast_sim.fleet.compiled import columns as at
from cachecast_sim.fleet.compiled import schedule as schedule_part
from cachecast_sim.fleet.compiled.pool import find
from cachecast_sim.fleet.compiled.schedule import admit, end_step, schedule
from cachecast_sim.fleet.compiled.step_time import step_ns
from cachecast_sim.fleet.compiled.stretch import decode_on, is_quiet
from cachecast_sim.latency import terms

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@part
def no_room(world: Ints, servers: Ints, told: Ints, gaps: Ints, server: int) -> int:
    """What has to be done before a boundary of the server: TELL, GROW or, mostly, GO_ON."""
    if (
        len(told) - world[at.TOLD] < 3 * world[at.MAX_SEQS] + 1
        or len(gaps) - world[at.GAPS] < world[at.MAX_SEQS] + 1
    ):
        return at.TELL
    rows = (servers[server, at.RUNNING] + 2) * world[at.MOST_PIECES]
    if world[at.FREE_EXTENTS] < rows or world[at.FREE_HOLDINGS] < rows:
        return at.GROW
    return at.GO_ON


@part
def earliest(when: Ints) -> int:
    """The server whose boundary is next, the first of several at one time."""
    first = 0
    for server in range(1, len(when)):
        if when[server] < when[first]:
            first = server
    return first


@part
def alone_until(world: Ints, when: Ints, server: int, until_ns: int) -> int:
    """Until when the server may go on by itself: where the end of a job can bring the next arrival,
    no further than another server's next boundary."""
    if world[at.STOP_AT_END]:
        for other in range(len(when)):
            if other != server:
                until_ns = min(until_ns, when[other])
    return until_ns


@part
def begin(
    servers: Ints, when: Ints, whole: Ints, real: Floats, experts: Floats, server: int, now_ns: int
) -> None:
    """The step that was scheduled runs from now on, if there is one."""
    row = servers[server]
    begins = row[at.BUSY] or row[at.REQUESTS] or row[at.BESIDE]
    row[at.BUSY] = 1 if begins else 0
    when[server] = at.NEVER
    if begins:
        row[at.DURATION] = step_ns(
            whole, real, experts, row[at.TOKENS], row[at.REQUESTS], row[at.PAIRS], row[at.BESIDE],
            row[at.BESIDE_CONTEXT],
        )  # fmt: skip
        when[server] = now_ns + row[at.DURATION]


@part
def boundary(
    world: Ints, servers: Ints, jobs: Ints, pieces: Ints, residences: Ints, extents: Ints,
    holdings: Ints, segments: Ints, needs: Ints, running: Ints, told: Ints, gaps: Ints,
    when: Ints, whole: Ints, real: Floats, experts: Floats, until_ns: int,
) -> int:  # fmt: skip
    """The next step boundary of all servers, with the quiet ones behind it, if it comes before
    `until_ns`. GO_ON, or why Python has to do something first or next."""
    resumed = world[at.RESUME] != at.NONE
    server = world[at.RESUME] if resumed else earliest(when)
    now_ns = when[server]
    if now_ns >= until_ns:
        return at.DONE
    if now_ns >= at.NEVER >> 1:
        return at.TOO_LATE
    sampling = now_ns >= servers[server, at.SAMPLE]
    if not resumed:
        if sampling and world[at.TOLD]:
            return at.TELL  # Python hears of loads in the order of ends and loads
        if is_quiet(world, servers, server):
            when[server] = decode_on(
                world, servers, residences, extents, needs, gaps, whole, real, experts, server,
                now_ns, alone_until(world, when, server, until_ns),
            )  # fmt: skip
            if when[server] > now_ns:
                return at.GO_ON
        problem = no_room(world, servers, told, gaps, server)
        if problem != at.GO_ON:
            return problem
        if servers[server, at.BUSY]:
            end_step(
                world, servers, jobs, pieces, residences, extents, holdings, segments, needs,
                running, told, gaps, server, now_ns,
            )  # fmt: skip
    world[at.RESUME] = at.NONE
    more = resumed or schedule(
        world, servers, jobs, pieces, residences, extents, holdings, segments, needs, running,
        server, now_ns,
    )  # fmt: skip
    if more and not admit(
        world, servers, jobs, pieces, residences, extents, holdings, segments, running, told,
        server, now_ns,
    ):  # fmt: skip
        world[at.RESUME] = server
        return at.GROW
    begin(servers, when, whole, real, experts, server, now_ns)
    if sampling:
        world[at.SAMPLED], world[at.NOW] = server, now_ns
        return at.SAMPLING
    return at.TELL if world[at.STOP_AT_END] and world[at.TOLD] else at.GO_ON


def _kernels(made_of_all: int) -> tuple[Callable[..., int], Callable[..., None]]:
    """Both kernels. What is kept of them belongs to that number, which is never 0."""

    @compiled_for_many_calls
    def run_until(
        world: Ints, servers: Ints, jobs: Ints, pieces: Ints, residences: Ints, extents: Ints,
        holdings: Ints, segments: Ints, needs: Ints, running: Ints, told: Ints, gaps: Ints,
        when: Ints, whole: Ints, real: Floats, experts: Floats, until_ns: int,
    ) -> int:  # fmt: skip
        """Every step boundary before `until_ns`, in the order of time and of the servers' numbers.

        DONE, or why it came back before: call again when that has been seen to.
        """
        came_back = at.GO_ON
        while came_back == at.GO_ON and made_of_all:
            came_back = boundary(
                world, servers, jobs, pieces, residences, extents, holdings, segments, needs,
                running, told, gaps, when, whole, real, experts, until_ns,
            )  # fmt: skip
        return came_back

    @compiled_for_many_calls
    def matched_blocks(
        world: Ints, jobs: Ints, pieces: Ints, residences: Ints, extents: Ints, job: int,
        found: Ints,
    ) -> None:  # fmt: skip
        """`found` gets the blocks at the front of the job's prompt that each server has."""
        limit = (jobs[job, at.PROMPT] - 1) // world[at.BLOCK_TOKENS]
        for server in range(world[at.SERVERS] if made_of_all else 0):
            found[server] = find(world, jobs, pieces, residences, extents, server, job, limit)[0]

    return run_until, matched_blocks


_PARTS = (blocks, columns, group, pool, schedule_part, step_time, stretch, terms)
run_until, matched_blocks = _kernels(made_of(*_PARTS))
