"""Who of the waiting requests comes into a step, and what is known of its hits from then on."""

from typing import TYPE_CHECKING

from cachecast_sim.fleet.job import Job
from cachecast_sim.fleet.misses import explain
from cachecast_sim.fleet.prefixes import Segment

if TYPE_CHECKING:
    from cachecast_sim.fleet.vllm.server import VllmServer


def admit(server: "VllmServer", now_ns: int, budget: int) -> None:
    """Waiting jobs in their order, until one does not fit: it blocks those behind it."""
    transfers = server.transfers
    while transfers.loaded and budget:
        job = transfers.loaded.popleft()
        budget -= server.prefill(job, min(job.remaining, budget))
    server.blocks.expire(now_ns)
    pool, size = server.pool, server.block_tokens
    waiting, running = server.waiting, server.running
    while waiting and budget and len(running) < server.max_seqs:
        job = waiting[0]
        total = job.prompt_tokens if job.prefilled else job.prompt_tokens + job.generated
        limit = total // size if job.prefilled else (total - 1) // size
        found, hit, free = pool.find(job.path, limit)
        needed = -(-total // size) - hit
        if needed + free > pool.free_blocks:
            return
        waiting.popleft()
        job.held = pool.touch(found)
        job.blocks = job.filled_blocks = hit
        job.order = server.admitted
        server.admitted += 1
        running[job] = None
        if job.prefilled:
            transfers.fetch(job, hit, needed, now_ns)
            continue
        hit = transfers.load(job, hit, limit, needed, now_ns)
        _count_hits(server, job, hit, now_ns)
        job.computed = hit * size
        job.remaining = total - job.computed
        if job not in transfers:
            budget -= server.prefill(job, min(job.remaining, budget))


def _count_hits(server: "VllmServer", job: Job, hit: int, now_ns: int) -> None:
    """Once, at the first admission; what a preempted job finds again is counted apart."""
    if job.scheduled_ns is not None:
        job.readmission_hit_tokens.append(hit * server.block_tokens)
        return
    job.scheduled_ns = now_ns
    job.hit_tokens = hit * server.block_tokens
    beside = server.beside

    def settle(segment: Segment) -> bool:
        return beside.settle(segment, now_ns)

    explain(job, hit, server.pool, server.block_tokens, settle if beside.owing else None)
