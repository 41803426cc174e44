"""Where and how a prompt parts from an earlier one: items 7 of the list of reasons."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from cachecast_datasets.request import ContentBlock

MEDIA = ("image", "document")


@dataclass(frozen=True, slots=True)
class Divergence:
    """The first difference from an earlier prompt.

    `start` = tokens of the common prefix; `end` = tokens up to which the difference did harm: the
    end of the last block that the earlier prompt also had (as it is, key-sorted or masked), or of
    the changed tools or system text (equal to `start` if only new text differs).
    """

    start: int
    end: int
    reason: str
    candidates: tuple[str, ...] = ()
    evidence: dict[str, Any] = field(default_factory=dict)


def common_blocks(ours: Sequence[ContentBlock], theirs: Sequence[ContentBlock]) -> int:
    """How many leading blocks are equal in section and content."""
    count = 0
    for a, b in zip(ours, theirs, strict=False):
        if a.hash != b.hash or a.section != b.section:
            break
        count += 1
    return count


def diverge(
    ours: Sequence[ContentBlock],
    ends: Sequence[int],
    theirs: Sequence[ContentBlock],
    limit: int,
    same_session: bool,
) -> Divergence | None:
    """How `ours` (its block ends in tokens are `ends`) parts from `theirs`, up to `limit` tokens.

    None if the earlier prompt is whole within ours, or ours within it up to `limit`.
    """
    k = common_blocks(ours, theirs)
    start = ends[k - 1] if k else 0
    if k == len(theirs) or k == len(ours) or start >= limit:
        return None
    reason = _classify(ours, theirs, k)
    end = _harm_end(ours, ends, theirs, k, limit, same_session)
    evidence = {
        "diverged_at_block": k,
        "diverged_at_tokens": start,
        "section": ours[k].section,
        "label": ours[k].label,
    }
    return Divergence(start, max(end, start), reason, evidence=evidence)


def _harm_end(
    ours: Sequence[ContentBlock],
    ends: Sequence[int],
    theirs: Sequence[ContentBlock],
    k: int,
    limit: int,
    same_session: bool,
) -> int:
    """Tokens up to the last block of ours that theirs had too, in some form."""
    seen = {h for b in theirs[k:] for h in (b.hash, b.canonical_hash, b.masked_hash) if h}
    end = 0
    for block, tokens in zip(ours[k:], ends[k:], strict=True):
        if tokens > limit:
            break
        again = not seen.isdisjoint((block.hash, block.canonical_hash, block.masked_hash))
        stable = same_session and block.section in ("tools", "system")
        if again or stable:
            end = tokens
    return end


def _classify(ours: Sequence[ContentBlock], theirs: Sequence[ContentBlock], k: int) -> str:
    a, b = ours[k], theirs[k]
    if a.section == "tools" or b.section == "tools":
        return _classify_tools(ours, theirs)
    if _equal(a.canonical_hash, b.canonical_hash):
        return "json_key_order"
    if _equal(a.masked_hash, b.masked_hash):
        return "volatile_value"
    if _is_system(ours, k) or _is_system(theirs, k):
        return "system_changed"
    if a.kind in MEDIA or b.kind in MEDIA:
        return "media_changed"
    return "message_edited" if _one_edit(ours[k:], theirs[k:]) else "history_rewritten"


def _equal(a: int | None, b: int | None) -> bool:
    return a is not None and a == b


def _is_system(blocks: Sequence[ContentBlock], k: int) -> bool:
    """Block `k` belongs to the system text: `system`, or the initial run of developer blocks."""
    if blocks[k].section == "system":
        return True
    lead = all(b.section in ("tools", "system", "developer") for b in blocks[:k])
    return blocks[k].section == "developer" and lead


def _classify_tools(ours: Sequence[ContentBlock], theirs: Sequence[ContentBlock]) -> str:
    mine = [b for b in ours if b.section == "tools"]
    other = [b for b in theirs if b.section == "tools"]
    if Counter(b.hash for b in mine) == Counter(b.hash for b in other):
        return "tools_reordered"
    if len(mine) == len(other):
        pairs = list(zip(mine, other, strict=True))
        if all(a.hash == b.hash or _equal(a.canonical_hash, b.canonical_hash) for a, b in pairs):
            return "json_key_order"
        if all(a.hash == b.hash or _equal(a.masked_hash, b.masked_hash) for a, b in pairs):
            return "volatile_value"
    if Counter(_canonical(b) for b in mine) == Counter(_canonical(b) for b in other):
        return "tools_reordered"
    return "tools_changed"


def _canonical(block: ContentBlock) -> int:
    return block.hash if block.canonical_hash is None else block.canonical_hash


def _one_edit(ours: Sequence[ContentBlock], theirs: Sequence[ContentBlock]) -> bool:
    """Exactly one earlier block replaced, removed or inserted; all that follow it stand aligned."""
    a = [(b.section, b.hash) for b in ours]
    b = [(b.section, b.hash) for b in theirs]
    replaced = len(a) >= len(b) and a[1 : len(b)] == b[1:]
    removed = len(b) > 1 and len(a) >= len(b) - 1 and a[: len(b) - 1] == b[1:]
    inserted = a[1 : len(b) + 1] == b
    return replaced or removed or inserted
