"""How the tools and the system text of two prompts differ."""

from collections import Counter
from collections.abc import Iterator, Sequence

from cachecast_sim.why.causes import REORDERED, Difference
from cachecast_sim.why.changed_blocks import changed, pair_up
from cachecast_sim.why.dates import Moments
from cachecast_sim.why.pieces import kind_of
from cachecast_sim.why.prompts import Item


def moved(theirs: Sequence[Item], ours: Sequence[Item]) -> list[Item]:
    """Ours that stand in another order among those that both have once; [] if none does."""
    once = _once(theirs) & _once(ours)
    a = [item for item in theirs if item.canonical in once]
    b = [item for item in ours if item.canonical in once]
    return [y for x, y in zip(a, b, strict=True) if x.canonical != y.canonical]


def _once(items: Sequence[Item]) -> set[int]:
    counts = Counter(item.canonical for item in items)
    return {value for value, n in counts.items() if n == 1}


def unmatched(theirs: Sequence[Item], ours: Sequence[Item]) -> tuple[list[Item], list[Item]]:
    """What only theirs has and what only ours has, by raw content."""
    common = Counter(i.key for i in theirs) & Counter(i.key for i in ours)
    return _without(theirs, common), _without(ours, common)


def _without(items: Sequence[Item], common: Counter[tuple[str, int]]) -> list[Item]:
    rest, found = Counter(common), []
    for item in items:
        if rest[item.key] > 0:
            rest[item.key] -= 1
        else:
            found.append(item)
    return found


def changed_tools(
    theirs: Sequence[Item], ours: Sequence[Item], moments: Moments
) -> Iterator[Difference]:
    """Order, keys, volatile values, definitions, and tools that came or went."""
    order = moved(theirs, ours)
    if order:
        yield Difference("tools_reordered", order[0].place(), evidence={"moved": len(order)})
    gone, new = unmatched(theirs, ours)
    left: list[Item] = []
    for item in gone:
        match = next((n for n in new if _same_tool(item, n)), None)
        if match is None:
            left.append(item)
            continue
        new.remove(match)
        yield from changed(item, match, moments)
    yield from _came_and_went(left, new, ours)


def _same_tool(theirs: Item, ours: Item) -> bool:
    if theirs.canonical == ours.canonical:
        return True
    masked = theirs.block.masked_hash
    if masked is not None and masked == ours.block.masked_hash:
        return True
    return theirs.name is not None and theirs.name == ours.name


def _came_and_went(gone: list[Item], new: list[Item], ours: Sequence[Item]) -> Iterator[Difference]:
    named = all(item.name is not None for item in (*gone, *new))
    names = {
        "added": [item.name for item in new if item.name],
        "removed": [item.name for item in gone if item.name],
    }
    evidence = {key: value for key, value in names.items() if value}
    if gone and new and not named:  # a definition that changed looks the same
        yield Difference("tools_changed", new[0].place(), evidence={"changed": len(new)})
        return
    if new:
        yield Difference("tools_added", new[0].place(), evidence=evidence or {"added": len(new)})
    if gone:
        place = _successor(gone[0], ours).place() if ours else None
        yield Difference("tools_removed", place, evidence=evidence or {"removed": len(gone)})


def _successor(gone: Item, ours: Sequence[Item]) -> Item:
    """What stands at the place of a block that is gone."""
    return min(ours, key=lambda item: (abs(item.index - gone.index), item.index))


def changed_system(
    theirs: Sequence[Item], ours: Sequence[Item], moments: Moments
) -> Iterator[Difference]:
    """Order of blocks, changed blocks, and blocks that came or went."""
    order = moved(theirs, ours)
    if order:
        yield reordering(order)
    gone, new = unmatched(theirs, ours)
    if not order and len(gone) == len(new):
        pairs = list(zip(gone, new, strict=True))
        gone, new = [], []
    else:
        pairs, gone, new = pair_up(gone, new)
    for a, b in pairs:
        yield from changed(a, b, moments)
    for item in new[:1]:
        yield Difference("system_changed", item.place(), evidence={"added": len(new)})
    if gone and not new:
        place = _successor(gone[0], ours).place() if ours else None
        yield Difference("system_changed", place, evidence={"removed": len(gone)})


def reordering(order: Sequence[Item]) -> Difference:
    """The same blocks in another order: examples, passages, or undecided."""
    evidence = {"moved": len(order)}
    if any(item.block.section == "assistant" for item in order):
        return Difference("examples_shuffled", order[0].place(), evidence=evidence)
    if all(item.block.kind == "document" for item in order):
        return Difference("passages_reordered", order[0].place(), evidence=evidence)
    texts = [item.text for item in order if item.text is not None]
    cause, candidates = kind_of(texts, "") if texts else (None, REORDERED)
    if cause == "tools_reordered" and order[0].block.section != "tools" and not texts:
        cause, candidates = None, REORDERED
    return Difference(cause, order[0].place(), candidates, evidence)
