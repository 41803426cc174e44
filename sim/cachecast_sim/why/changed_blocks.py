"""What became of single blocks: the same block with another text, kind or spelling."""

from collections.abc import Iterator, Sequence

from cachecast_pricing.rules.divergence import MEDIA
from cachecast_sim.why.causes import VOLATILE, Difference
from cachecast_sim.why.dates import Moments
from cachecast_sim.why.prompts import SYSTEM, Item
from cachecast_sim.why.text_changes import alike, only_volatile, text_changes
from cachecast_sim.why.values import REWRITTEN


def rewritten(item: Item) -> str:
    """The cause of a block that was rewritten, by where it stands."""
    section = item.block.section
    if section == "tools":
        return "tools_changed"
    return "system_changed" if section in SYSTEM else "message_edited"


def same_block(theirs: Item, ours: Item) -> bool:
    """Whether ours is a version of theirs: equal but for keys, volatile values or a few words."""
    a, b = theirs.block, ours.block
    if a.section != b.section or (a.kind in MEDIA) != (b.kind in MEDIA):
        return False
    if theirs.canonical == ours.canonical:
        return True
    if a.masked_hash is not None and a.masked_hash == b.masked_hash:
        return True
    if theirs.text is None or ours.text is None:
        return False
    return alike(theirs.text, ours.text)


def changed(theirs: Item, ours: Item, moments: Moments) -> Iterator[Difference]:
    """The differences between two versions of a block; nothing for equal ones."""
    a, b = theirs.block, ours.block
    if a.hash == b.hash:
        return
    if a.kind in MEDIA or b.kind in MEDIA:
        replaced = a.kind in MEDIA and b.kind not in MEDIA
        cause = "image_replaced" if replaced else "media_changed"
        yield Difference(cause, ours.place(), evidence={"was": a.kind, "is": b.kind})
        return
    if theirs.canonical == ours.canonical:
        yield _spelling(theirs, ours)
        return
    if theirs.text is None or ours.text is None:
        masked = a.masked_hash is not None and a.masked_hash == b.masked_hash
        yield _without_text(ours, masked)
        return
    yield from _by_text(theirs, ours, theirs.text, ours.text, moments)


def _spelling(theirs: Item, ours: Item) -> Difference:
    """The same content in another spelling: a string against one text block, or JSON keys."""
    a, b = theirs.block, ours.block
    plain = (a.hash == theirs.canonical) != (b.hash == ours.canonical)
    if a.kind == b.kind == "text" and plain:
        was = "string" if a.hash == theirs.canonical else "text block"
        return Difference("string_or_block", ours.place(), evidence={"was": was})
    return Difference("json_key_order", ours.place())


def _without_text(ours: Item, masked: bool) -> Difference:
    """Hashes alone tell that a value changed, or that a text did, and not what in it."""
    if masked:
        return Difference(None, ours.place(), VOLATILE)
    cause = rewritten(ours)
    if cause == "tools_changed":
        return Difference(cause, ours.place())
    return Difference(None, ours.place(), evidence={"text": "not kept"})


def _by_text(
    theirs: Item, ours: Item, before: str, after: str, moments: Moments
) -> Iterator[Difference]:
    changes = text_changes(before, after, moments)
    if not changes:  # the text is equal, and what stands beside it in the block is not
        yield Difference(rewritten(ours), ours.place(), evidence={"text": "equal"})
        return
    seen: set[tuple[str | None, tuple[str, ...]]] = set()
    for change in changes:
        cause, candidates = change.cause, change.candidates
        if cause is None and not candidates:
            cause = rewritten(ours)
        candidates = tuple(rewritten(ours) if c == REWRITTEN else c for c in candidates)
        if (cause, candidates) not in seen:
            seen.add((cause, candidates))
            place = ours.place(change.offset, change.before, change.after)
            yield Difference(cause, place, candidates)


def versions(theirs: Item, ours: Item, moments: Moments) -> bool:
    """Whether ours is theirs with nothing but volatile values changed."""
    if theirs.text is None or ours.text is None:
        masked = theirs.block.masked_hash
        return masked is not None and masked == ours.block.masked_hash
    return only_volatile(text_changes(theirs.text, ours.text, moments))


def pair_up(
    theirs: Sequence[Item], ours: Sequence[Item]
) -> tuple[list[tuple[Item, Item]], list[Item], list[Item]]:
    """(versions of the same block, only in theirs, only in ours), in order."""
    pairs, at = [], 0
    gone: list[Item] = []
    used: set[int] = set()
    for item in theirs:
        match = next((i for i in range(at, len(ours)) if same_block(item, ours[i])), None)
        if match is None:
            gone.append(item)
            continue
        pairs.append((item, ours[match]))
        used.add(match)
        at = match + 1
    return pairs, gone, [item for i, item in enumerate(ours) if i not in used]
