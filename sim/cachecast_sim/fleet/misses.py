"""Why a job's blocks were not in its server's cache."""

from collections.abc import Callable
from typing import Protocol

from cachecast_sim.fleet.job import Job
from cachecast_sim.fleet.prefixes import Path, Segment

# of several reasons the request's own is the first of these (design §5)
_FIRST = (
    "concurrent_with_writer", "ttl_expired", "evicted", "routed_elsewhere", "last_token_rule",
    "cold_start", None,
)  # fmt: skip
_RANK = {reason: rank for rank, reason in enumerate(_FIRST)}
_RANK["new_content"] = _RANK["block_rounding"] = _RANK[None]


Settle = Callable[[Segment], bool]


class Memory(Protocol):
    """What a server's cache knows of the blocks it ever held."""

    def computed_to(self, segment: Segment) -> int:
        """The position up to which it ever held the segment."""
        ...

    def expired_from(self, segment: Segment) -> int | None:
        """The lowest position of the segment that outlived its TTL; None if none did."""
        ...


def explain(
    job: Job, hit_blocks: int, pool: Memory, block_tokens: int, settle: Settle | None = None
) -> None:
    """Sets `job.misses`, (reason, tokens) for every prompt token that was not hit, in the order of
    the prompt, and `job.reason`.

    A block that this pool once held was evicted (or outlived its TTL); one that only another server
    held was routed elsewhere; one that an earlier request has but no server has computed yet is
    being computed or waits to be; the others were never seen. Since blocks are chained, each of
    these is one run. `settle(segment)` makes other servers take what of the segment they have
    computed by now, and says whether any had to.
    """
    prompt = job.prompt_tokens
    whole, usable = prompt // block_tokens, (prompt - 1) // block_tokens
    here, somewhere, expired = _held(job, hit_blocks, whole, pool)
    if settle is not None and somewhere < usable and settle(_segment_at(job.path, somewhere)):
        here, somewhere, expired = _held(job, hit_blocks, whole, pool)
    gone = "ttl_expired" if expired is not None and expired <= hit_blocks else "evicted"
    tell_reasons(job, hit_blocks, here, somewhere, gone, block_tokens)


def tell_reasons(
    job: Job, hit_blocks: int, here: int, somewhere: int, gone: str, block_tokens: int
) -> None:
    """The same of a job of whose prompt its server ever held `here` blocks and any server
    `somewhere`; `gone` is why blocks are not here any more."""
    prompt = job.prompt_tokens
    whole, usable = prompt // block_tokens, (prompt - 1) // block_tokens
    if somewhere > usable:
        here, somewhere = min(here, usable), usable
    shared = max(somewhere, min(job.shared_blocks, usable))
    new = "new_content" if job.shared_blocks or hit_blocks else "cold_start"
    # the last block may be there and must be computed all the same
    last = block_tokens if whole > usable and job.shared_blocks >= whole else 0
    runs = (
        (gone, (here - hit_blocks) * block_tokens),
        ("routed_elsewhere", (somewhere - here) * block_tokens),
        ("concurrent_with_writer", (shared - somewhere) * block_tokens),
        (new, (whole - shared) * block_tokens - last),
        ("last_token_rule", last),
        ("block_rounding", prompt - whole * block_tokens),
    )
    found, rank = [], _RANK[None]
    for run in runs:
        if run[1]:
            found.append(run)
            if (own := _RANK[run[0]]) < rank:
                rank = own
    job.misses, job.reason = tuple(found), _FIRST[rank]


def _held(job: Job, hit_blocks: int, whole: int, pool: Memory) -> tuple[int, int, int | None]:
    """Up to where this pool and any server ever held the prompt's whole blocks, at least the hit;
    and from where on they outlived their TTL here."""
    here = somewhere = hit_blocks
    expired = None
    for segment, low, high in job.path:
        if high <= hit_blocks:
            continue
        computed_to = segment.computed_to
        if low >= whole or computed_to <= low:
            break
        end = high if high < computed_to else computed_to
        if end > somewhere:
            somewhere = end
        held_to = pool.computed_to(segment)
        if held_to > low:
            end = high if high < held_to else held_to
            if end > here:
                here = end
            if expired is None:
                expired = pool.expired_from(segment)
    return here, somewhere, expired


def _segment_at(path: Path, block: int) -> Segment:
    """The one that the block lies in."""
    for segment, _, high in path:
        if high > block:
            return segment
    raise IndexError(f"block {block} lies behind the path")
