"""How the messages of two prompts differ: what became of the history that both had."""

import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from cachecast_pricing.rules.divergence import MEDIA
from cachecast_sim.why.causes import Difference, Place
from cachecast_sim.why.changed_blocks import changed, same_block
from cachecast_sim.why.changed_parts import moved, reordering
from cachecast_sim.why.dates import Moments
from cachecast_sim.why.prompts import Item

LAST_BLOCK = "last_block"  # evidence: nothing stands behind the difference in either prompt
_UNDECIDED = ("history_summarised", "rewind")
_TOLD_AGAIN = 0.5  # share of a summary's longer words that stand in what it sums up
_LONG_WORD = 5
_FEW_WORDS = 8
_LONG_TURN = 80
_HEAD = 400
_SUMMARY = re.compile(
    r"\bsummar(?:y|i[sz]ed?)\b|\brecap\b|conversation (?:so far|history)|previous conversation|"
    r"earlier (?:conversation|messages|turns)|zusammen(?:fassung|gefasst)|r[ée]sum[ée]\b|resumen|"
    r"riassunto|resumo|samenvatting|итог|кратк|摘要|总结|要約|요약",
    re.I,
)
_MOST_NEW = 2  # blocks that a summary takes: a message, perhaps an answer to it


def changed_messages(
    theirs: Sequence[Item], ours: Sequence[Item], moments: Moments
) -> Iterator[Difference]:
    """Every difference but that ours goes on."""
    stripped = _stripped_thinking(theirs, ours)
    if stripped:
        gone = {item.index for item in stripped}
        theirs = [item for item in theirs if item.index not in gone]
    k = _common(theirs, ours)
    if stripped:
        place = _at(ours, min(k, stripped[0].index), stripped[0])
        yield Difference("thinking_stripped", place, evidence={"removed": len(stripped)})
    if k == len(theirs) or k == len(ours):
        return
    a, b = list(theirs[k:]), list(ours[k:])
    order = moved(a, b)
    if order:
        yield reordering(order)
        known = {item.canonical for item in a} & {item.canonical for item in b}
        a = [item for item in a if item.canonical not in known]
        b = [item for item in b if item.canonical not in known]
    yield from _edits(a, b, k == 0, moments, after_moves=bool(order))


def _common(theirs: Sequence[Item], ours: Sequence[Item]) -> int:
    k = 0
    for a, b in zip(theirs, ours, strict=False):
        if a.key != b.key:
            break
        k += 1
    return k


def _at(ours: Sequence[Item], index: int, gone: Item) -> Place:
    """The place in ours where something of theirs is gone."""
    if not ours:
        return gone.place()
    return ours[min(index, len(ours) - 1)].place()


def _stripped_thinking(theirs: Sequence[Item], ours: Sequence[Item]) -> list[Item]:
    """Thinking that ours lacks while a neighbour of it is still there."""
    kept = {item.canonical for item in ours}
    found = []
    for i, item in enumerate(theirs):
        if item.block.kind != "thinking" or item.canonical in kept:
            continue
        beside = [
            j for j in (_next_other(theirs, i, -1), _next_other(theirs, i, 1)) if j is not None
        ]
        if any(theirs[j].canonical in kept for j in beside):
            found.append(item)
    return found


def _next_other(items: Sequence[Item], at: int, step: int) -> int | None:
    """The nearest block in a direction that is no thinking."""
    at += step
    while 0 <= at < len(items):
        if items[at].block.kind != "thinking":
            return at
        at += step
    return None


def _edits(
    theirs: list[Item], ours: list[Item], from_the_first: bool, moments: Moments, after_moves: bool
) -> Iterator[Difference]:
    """Blocks that were replaced, removed or inserted before the last one that both have."""
    matcher = difflib.SequenceMatcher(
        None, [i.key for i in theirs], [i.key for i in ours], autojunk=False
    )
    codes = matcher.get_opcodes()
    last_equal = max((n for n, code in enumerate(codes) if code[0] == "equal"), default=-1)
    for n, (tag, i1, i2, j1, j2) in enumerate(codes):
        gone, new = theirs[i1:i2], ours[j1:j2]
        if tag == "equal":
            continue
        first = from_the_first and n == 0
        if n < last_equal:
            here = ours[j1 if j1 < len(ours) else -1]
            behind = sum(
                i.block.tokens for c in codes[n:] if c[0] == "equal" for i in ours[c[3] : c[4]]
            )
            yield from _inside(gone, new, here, first, moments, behind)
        elif gone:
            yield from _at_the_end(gone, new, first, moments, after_moves)


def _inside(
    gone: list[Item], new: list[Item], here: Item, first: bool, moments: Moments, behind: int
) -> Iterator[Difference]:
    """A change with something that both have behind it: `behind` tokens, processed anew."""
    counts = {"removed": len(gone), "inserted": len(new), "unchanged_behind_tokens": behind}
    if len(gone) == len(new):
        for a, b in zip(gone, new, strict=True):
            yield from changed(a, b, moments)
    elif not new and (len(gone) > 1 or first):
        yield Difference("history_truncated", here.place(), evidence=counts)
    elif len(gone) > len(new) and len(new) <= _MOST_NEW and len(gone) > 1:
        yield Difference("history_summarised", here.place(), evidence=counts)
    elif len(gone) + len(new) == 1 or (len(gone), len(new)) in ((0, 2), (1, 2)):
        yield Difference("message_edited", here.place(), evidence=counts)
    else:
        yield Difference("history_rewritten", here.place(), evidence=counts)


def _at_the_end(
    gone: list[Item], new: list[Item], first: bool, moments: Moments, after_moves: bool
) -> Iterator[Difference]:
    """A change with nothing behind it that both have: an edit, a summary, or a step back."""
    last = len(gone) == len(new) == 1  # the question itself: another one, or the same with a clock
    while gone and new and same_block(gone[0], new[0]):
        for difference in changed(gone[0], new[0], moments):
            yield replace(difference, evidence={**difference.evidence, LAST_BLOCK: last})
        gone, new = gone[1:], new[1:]
    if not gone or not new or after_moves:
        return
    if gone[0].block.kind in MEDIA and new[0].block.kind not in MEDIA:
        yield from changed(gone[0], new[0], moments)
        return
    counts = {"removed": len(gone), "inserted": len(new)}
    here = new[0].place()
    told = _told_again(gone, new[0])
    if len(gone) > 1 and told:
        yield Difference("history_summarised", here, evidence=counts)
    elif len(gone) > 2 and (first or _long(new[0])):
        yield Difference(None, here, _UNDECIDED, counts)
    elif new[0].block.section == "user" and gone[0].block.section == "user":
        yield Difference("rewind", here, evidence=counts)
    else:
        yield Difference("history_rewritten", here, evidence=counts)


def _long(item: Item) -> bool:
    """More than a person writes in a turn, as far as the text tells."""
    return item.text is None or len(item.text.split()) > _LONG_TURN


def _told_again(gone: Sequence[Item], new: Item) -> bool:
    """Whether the new block says that it sums up, or says again what the old ones said."""
    if new.text is None:
        return False
    if _SUMMARY.search(new.text[:_HEAD]):
        return True
    old = set(_long_words(" ".join(item.text for item in gone if item.text is not None)))
    words = set(_long_words(new.text))
    return len(words) >= _FEW_WORDS and len(words & old) >= _TOLD_AGAIN * len(words)


def _long_words(text: str) -> Iterator[str]:
    return (word.lower() for word in re.findall(r"\w+", text) if len(word) >= _LONG_WORD)
