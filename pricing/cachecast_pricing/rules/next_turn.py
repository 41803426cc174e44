"""A shortcut for the usual request: a next turn that reads all that an earlier one stored.

On logs that know only token blocks most requests are of this kind, and nothing about them needs the
general path. Whatever is unusual goes there; property tests hold both equal.
"""

from typing import Protocol

from cachecast_pricing.rules.memory import Memory, Scope
from cachecast_pricing.rules.reasons import Explanation, Segment

NOT_USUAL = -1
ANY_POSITION = 1 << 62  # no look-back window


class BoundaryLists(Protocol):
    """Boundaries as parallel lists: one request's own, or a whole batch's one after the other."""

    @property
    def tokens(self) -> list[int]:
        """Prefix lengths."""
        ...

    @property
    def hashes(self) -> list[int]:
        """Chained hashes."""
        ...

    @property
    def names(self) -> list[str]:
        """What ends there."""
        ...

    @property
    def positions(self) -> list[int | None]:
        """Content blocks up to there, None if unknown."""
        ...


def usual_hit(
    memory: Memory,
    scope: Scope,
    lists: BoundaryLists,
    first: int,
    end: int,
    minimum: int,
    lookback: int,
    now_us: int,
) -> int:
    """Index of the entry that is read, among the boundaries `first <= i < end` of one request.

    NOT_USUAL unless the longest prefix ever held in the scope is stored, alive and within reach.
    """
    last = end - 1
    if last <= first or lists.tokens[last] < minimum:
        return NOT_USUAL
    hashes, names = lists.hashes, lists.names
    entries, held, written_in = scope.entries, scope.held, memory.written_in
    for i in range(last, first - 1, -1):
        value = hashes[i]
        entry = entries.get(value)
        if entry is not None:
            break
        if value in held or value in written_in or names[i] == "shared":
            return NOT_USUAL
    else:
        return NOT_USUAL
    if not entry.ready_us <= now_us <= entry.expiry_us:
        return NOT_USUAL
    top, start = lists.positions[last], lists.positions[i]
    if top is None or start is None or top - start >= lookback:
        return NOT_USUAL
    return i


def usual_explanation(read: int, limit: int, total: int) -> Explanation:
    """Only new text and the rounding of the last block were not read."""
    if limit <= read:
        return Explanation((Segment(read, total, "block_rounding"),) if total > read else (), None)
    new = Segment(read, limit, "new_content")
    if total > limit:
        return Explanation((new, Segment(limit, total, "block_rounding")), None)
    return Explanation((new,), None)
