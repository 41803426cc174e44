"""Why a job's blocks were not in its server's cache."""

from typing import Protocol

from cachecast_sim.fleet.job import Job
from cachecast_sim.fleet.prefixes import Segment

# of several reasons the request's own is the first of these (design §5)
_FIRST = ("concurrent_with_writer", "ttl_expired", "evicted", "routed_elsewhere")


class Memory(Protocol):
    """What a server's cache knows of the blocks it ever held."""

    def computed_to(self, segment: Segment) -> int:
        """The position up to which it ever held the segment."""
        ...

    def expired_from(self, segment: Segment) -> int | None:
        """The lowest position of the segment that outlived its TTL; None if none did."""
        ...


def explain(job: Job, hit_blocks: int, pool: Memory, block_tokens: int) -> None:
    """Sets `job.misses`, (reason, tokens) for every prompt token that was not hit, in the order of
    the prompt, and `job.reason`.

    A block that this pool once held was evicted (or outlived its TTL); one that only another server
    held was routed elsewhere; one that an earlier request has but no server has computed yet is
    being computed or waits to be; the others were never seen. Since blocks are chained, each of
    these is one run.
    """
    prompt = job.prompt_tokens
    whole, usable = prompt // block_tokens, (prompt - 1) // block_tokens
    here = somewhere = hit_blocks
    expired = None
    for segment, low, high in job.path:
        if high <= hit_blocks:
            continue
        if low >= whole or segment.computed_to <= low:
            break
        somewhere = max(somewhere, min(high, segment.computed_to))
        held_to = pool.computed_to(segment)
        if held_to > low:
            here = max(here, min(high, held_to))
            if expired is None:
                expired = pool.expired_from(segment)
    here, somewhere = min(here, usable), min(somewhere, usable)
    shared = max(somewhere, min(job.shared_blocks, usable))
    gone = "ttl_expired" if expired is not None and expired <= hit_blocks else "evicted"
    new = "new_content" if job.shared_blocks or hit_blocks else "cold_start"
    runs = (
        (gone, here - hit_blocks), ("routed_elsewhere", somewhere - here),
        ("concurrent_with_writer", shared - somewhere),
    )  # fmt: skip
    misses = [(reason, blocks * block_tokens) for reason, blocks in runs if blocks]
    found = {reason for reason, _ in misses}
    job.reason = next((reason for reason in _FIRST if reason in found), None)
    at = shared
    if (
        whole > usable and job.shared_blocks >= whole
    ):  # the last block is there, yet must be computed
        misses += _positive((new, (usable - at) * block_tokens), ("last_token_rule", block_tokens))
        job.reason = job.reason or "last_token_rule"
    else:
        misses += _positive((new, (whole - at) * block_tokens))
    misses += _positive(("block_rounding", prompt - whole * block_tokens))
    if new == "cold_start" and job.reason is None:
        job.reason = new
    job.misses = tuple(misses)


def _positive(*misses: tuple[str, int]) -> list[tuple[str, int]]:
    return [(reason, tokens) for reason, tokens in misses if tokens]
