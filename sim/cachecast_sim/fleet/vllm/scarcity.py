"""A step for which there are too few free blocks: some of the running jobs have to give way."""

from typing import TYPE_CHECKING

from cachecast_sim.fleet.job import Job

if TYPE_CHECKING:
    from cachecast_sim.fleet.vllm.server import VllmServer


def schedule_scarce(server: "VllmServer", now_ns: int) -> tuple[int, int]:
    """(decoding jobs, their context) of the step. One job after the other in running order gets its
    blocks; where there are none, the last running ones are preempted, perhaps the job itself."""
    group, pool, blocks = server.group, server.pool, server.blocks
    budget = server.max_batch_tokens
    for job in list(server.running):
        decoding = job in group.jobs
        if job not in server.running or not (decoding or job is server.prefills.partial):
            continue  # preempted, or its blocks are on their way
        tokens = 1 if decoding else min(job.remaining, budget)
        if decoding:
            needed = 0 if group.computed(job) % server.block_tokens else 1
        else:
            needed = blocks.needed(job, tokens)
        while needed > pool.free_blocks and job in server.running:
            _preempt(server, _last_running(server), now_ns)
        if job not in server.running:
            break
        budget -= tokens
        if not decoding:
            server.prefill(job, tokens)
            continue
        pool.take(needed)
        if job.filled_blocks < job.known_blocks:
            blocks.fill(job, group.computed(job) + 1)
    decodes = len(group.jobs)
    context = group.context + decodes
    group.advance(1)
    return decodes, context


def _preempt(server: "VllmServer", job: Job, now_ns: int) -> None:
    """`job` gives its blocks back and goes to the front of the queue."""
    if job in server.group.jobs:
        computed = server.group.leave(job)
        job.blocks = -(-computed // server.block_tokens)
        job.last_token_ns = now_ns
    else:
        computed = job.computed
        if job is server.prefills.partial:
            server.prefills.partial = None
        else:
            server.transfers.loaded.remove(job)
    server.blocks.release(job, computed, now_ns)
    del server.running[job]
    server.waiting.appendleft(job)
    job.preemptions += 1
    server.preemptions += 1


def _last_running(server: "VllmServer") -> Job:
    return next(job for job in reversed(server.running) if job not in server.transfers)
