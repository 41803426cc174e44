"""A long prompt beside jobs that decode: steps that are all alike, taken as one stretch."""

from collections.abc import Sequence

from cachecast_sim.fleet.job import Job
from cachecast_sim.fleet.vllm.decoding import DecodeGroup
from cachecast_sim.fleet.vllm.job_blocks import JobBlocks
from cachecast_sim.latency.model import LatencyModel


def chunk_ends(
    job: Job, chunk: int, group: DecodeGroup, blocks: JobBlocks, latency: LatencyModel
) -> Sequence[int] | None:
    """Ends of the next steps that compute nothing but `chunk` tokens of `job`, the whole budget,
    and one of each job that decodes. None if one step is all there is, or has to be asked for."""
    steps = _steps(job, chunk, group, blocks)
    if steps < 2:
        return None
    decodes = len(group.jobs)
    return latency.chunk_ends_ns(chunk, job.computed, decodes, group.context + decodes, steps)


def _steps(job: Job, chunk: int, group: DecodeGroup, blocks: JobBlocks) -> int:
    """How many steps do not reach the last token of `job`.

    Nobody is admitted in them, since there is no budget left. No decoding job ends but in the last
    of them, none fills a block that others may find, and there are free blocks for all.
    """
    steps = (job.remaining - 1) // chunk
    if steps < 2 or group.fills:
        return 1
    if group.jobs:
        steps = min(steps, group.next_finish())
    free = blocks.pool.free_blocks
    while steps > 1 and group.blocks_needed(steps) + blocks.needed(job, steps * chunk) > free:
        steps //= 2
    return steps
