"""The differences of two texts of the same block, each with its cause and the exact characters."""

import difflib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cachecast_sim.why.causes import VOLATILE
from cachecast_sim.why.dates import Changed, Moments
from cachecast_sim.why.pieces import is_tool, json_values, reordered, tool_list_change
from cachecast_sim.why.values import CLOCK, judge

SHOWN = 80  # characters of a difference that are kept
_MOST_TOKENS = 3_000  # beyond this two texts are compared by their common ends alone
_BESIDE = 60
_SECONDS = 60
_WORDS = re.compile(r"\w+")
_RUN, _FEW_WORDS = 3, 12
_ALIKE = 0.4
_JOIN = re.compile(r"[ \t,]{0,3}")
_TOKEN = re.compile(r"\w+|[^\w\s]|\s+")
_VALUE = re.compile(r"[\w.:+\-/%@]")
_END = ".,;:!?"


@dataclass(frozen=True, slots=True)
class TextChange:
    """One difference: its cause (None: one of `candidates`), and where it stands in our text.

    A cause of None without candidates is text that was rewritten.
    """

    cause: str | None
    candidates: tuple[str, ...]
    offset: int
    before: str
    after: str


def text_changes(theirs: str, ours: str, moments: Moments) -> list[TextChange]:
    """Every difference, the first one first; [] for equal texts."""
    if theirs == ours:
        return []
    keys = _key_order(theirs, ours)
    if keys is not None:
        return [keys]
    found = reordered(theirs, ours)
    if found is None:
        return [*_tools(theirs, ours)] or _without_parts(list(_values(theirs, ours, moments)), ours)
    at, before, after = found.offset, found.before, found.after
    if before not in theirs or after not in ours:  # JSON, which was compared with sorted keys
        at = common_start(theirs, ours)
        before, after = theirs[at:], ours[at:]
    changes = [TextChange(found.cause, found.candidates, at, before[:SHOWN], after[:SHOWN])]
    if len(found.only_theirs) == len(found.only_ours):
        for a, b in zip(found.only_theirs, found.only_ours, strict=True):
            offset = max(0, ours.find(b))
            changes += [shifted(change, offset) for change in _values(a, b, moments)]
    elif all(is_tool(piece) for piece in (*found.only_theirs, *found.only_ours)):
        cause = "tools_added" if len(found.only_ours) > len(found.only_theirs) else "tools_removed"
        changes.append(TextChange(cause, (), found.offset, "", ""))
    else:
        changes.append(TextChange(None, (), found.offset, "", ""))
    return sorted(changes, key=lambda change: change.offset)


def _tools(theirs: str, ours: str) -> Iterator[TextChange]:
    """Tools that came or went in a list of tools within the text, if nothing else changed."""
    found = tool_list_change(theirs, ours)
    if found is None or (found[0] and found[1]):
        return
    spans = _spans(theirs, ours)
    if len(spans) == 1:
        start, end = spans[0][2], spans[0][3]
        cause = "tools_added" if found[1] else "tools_removed"
        before = theirs[spans[0][0] : spans[0][1]]
        yield TextChange(cause, (), start, before[:SHOWN], ours[start:end][:SHOWN])


def _without_parts(changes: list[TextChange], ours: str) -> list[TextChange]:
    """Without small numbers that stand on the line of a clock: its minutes or seconds."""
    lines = {ours.count("\n", 0, c.offset) for c in changes if c.cause == CLOCK}
    return [
        change
        for change in changes
        if not (
            change.candidates
            and change.after.isdigit()
            and int(change.after) < _SECONDS
            and ours.count("\n", 0, change.offset) in lines
        )
    ]


def shifted(change: TextChange, by: int) -> TextChange:
    """The same change in a text that begins `by` characters earlier."""
    return TextChange(
        change.cause, change.candidates, change.offset + by, change.before, change.after
    )


def _key_order(theirs: str, ours: str) -> TextChange | None:
    """Whether only the order of JSON keys differs, in the whole text or in JSON inside it."""
    a, b = list(json_values(theirs)), list(json_values(ours))
    if not a or [value for _, _, value in a] != [value for _, _, value in b]:
        return None
    if _between(theirs, a) != _between(ours, b):
        return None
    at = common_start(theirs, ours)
    return TextChange("json_key_order", (), at, theirs[at : at + SHOWN], ours[at : at + SHOWN])


def _between(text: str, spans: Sequence[tuple[int, int, object]]) -> list[str]:
    """What stands around the JSON values."""
    at, found = 0, []
    for start, end, _ in spans:
        found.append(text[at:start])
        at = end
    return [*found, text[at:]]


def common_start(a: str, b: str) -> int:
    """Characters at the start that both have."""
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        if a.startswith(b[low:middle], low):
            low = middle
        else:
            high = middle - 1
    return low


def _common_end(a: str, b: str, start: int) -> int:
    most = min(len(a), len(b)) - start
    return common_start(a[len(a) - most :][::-1], b[len(b) - most :][::-1]) if most else 0


Span = tuple[int, int, int, int]  # (start and end in theirs, start and end in ours)


def _values(theirs: str, ours: str, moments: Moments) -> Iterator[TextChange]:
    """The differing words, joined where they belong to one value, and judged."""
    for a, b, c, d in _joined(
        theirs, ours, [_widened(theirs, ours, s) for s in _spans(theirs, ours)]
    ):
        before, after = theirs[a:b].rstrip(_END), ours[c:d].rstrip(_END)
        left_at = max(ours.rfind("\n", 0, c) + 1, c - _BESIDE)
        value = Changed(
            before,
            after,
            ours[left_at:c],
            _line_rest(ours, c + len(after)),
            _line_rest(theirs, a + len(before)),
        )
        verdict = judge(value, moments) if before and after else None
        cause, candidates = verdict if verdict is not None else (None, ())
        yield TextChange(cause, candidates, c, before[:SHOWN], after[:SHOWN])


def _line_rest(text: str, at: int) -> str:
    end = text.find("\n", at)
    return text[at : min(at + _BESIDE, end if end >= 0 else len(text))]


def _spans(theirs: str, ours: str) -> list[Span]:
    """Where the two texts differ, word by word."""
    start = common_start(theirs, ours)
    end = _common_end(theirs, ours, start)
    a, b = theirs[start : len(theirs) - end], ours[start : len(ours) - end]
    ta, tb = _TOKEN.findall(a), _TOKEN.findall(b)
    if len(ta) + len(tb) > _MOST_TOKENS:
        return list(_spans_of_lines(theirs, ours, start, end))
    return list(_spans_of_tokens(ta, tb, start, start))


def _spans_of_tokens(ta: list[str], tb: list[str], at_a: int, at_b: int) -> Iterator[Span]:
    pa, pb = _places(ta, at_a), _places(tb, at_b)
    matcher = difflib.SequenceMatcher(None, ta, tb, autojunk=False)
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        if tag != "equal":
            yield pa[i1], pa[i2], pb[j1], pb[j2]


def _spans_of_lines(theirs: str, ours: str, start: int, end: int) -> Iterator[Span]:
    """The same for large texts: lines first, then words within lines that were replaced."""
    first = theirs.rfind("\n", 0, start) + 1
    la = theirs[first : len(theirs) - end].splitlines(keepends=True)
    lb = ours[first : len(ours) - end].splitlines(keepends=True)
    if len(la) + len(lb) > _MOST_TOKENS:
        yield start, len(theirs) - end, start, len(ours) - end
        return
    pa, pb = _places(la, first), _places(lb, first)
    for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(None, la, lb, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        ta = _TOKEN.findall("".join(la[i1:i2]))
        tb = _TOKEN.findall("".join(lb[j1:j2]))
        if len(ta) + len(tb) > _MOST_TOKENS:
            yield pa[i1], pa[i2], pb[j1], pb[j2]
        else:
            yield from _spans_of_tokens(ta, tb, pa[i1], pb[j1])


def _places(tokens: Sequence[str], at: int) -> list[int]:
    places = [at]
    for token in tokens:
        places.append(places[-1] + len(token))
    return places


def _widened(theirs: str, ours: str, span: Span) -> Span:
    """The whole value that a difference stands in: to the blanks, quotes or brackets around it.

    What is added on either side is the same in both texts.
    """
    a, b, c, d = span
    while a and c and theirs[a - 1] == ours[c - 1] and _VALUE.match(ours[c - 1]):
        a, c = a - 1, c - 1
    while b < len(theirs) and d < len(ours) and theirs[b] == ours[d] and _VALUE.match(ours[d]):
        b, d = b + 1, d + 1
    key = re.match(r"[^\W\d_][\w\-]*[:/](?=\w)", ours[c:d])
    if key and theirs.startswith(key[0], a) and not re.match(r"\d", key[0]):
        a, c = a + len(key[0]), c + len(key[0])
    return a, b, c, d


def _joined(theirs: str, ours: str, spans: Sequence[Span]) -> list[Span]:
    """Differences with nothing but blanks or commas between them are one value."""
    found: list[Span] = []
    for span in spans:
        if found:
            a, b, c, d = found[-1]
            if span[0] <= b or span[2] <= d:
                found[-1] = (a, max(b, span[1]), c, max(d, span[3]))
                continue
            gap = theirs[b : span[0]]
            if gap == ours[d : span[2]] and _JOIN.fullmatch(gap):
                found[-1] = (a, span[1], c, span[3])
                continue
        found.append(span)
    return found


def alike(theirs: str, ours: str) -> bool:
    """Whether two texts are versions of one another: most runs of three words in common.

    Single words would not do: two texts of one subject share those. Short texts share words.
    """
    a, b = _WORDS.findall(theirs), _WORDS.findall(ours)
    if not a or not b:
        return False
    n = _RUN if min(len(a), len(b)) >= _FEW_WORDS else 1
    left = Counter(zip(*(a[i:] for i in range(n)), strict=False))
    right = Counter(zip(*(b[i:] for i in range(n)), strict=False))
    common = (left & right).total()
    return common >= _ALIKE * max(left.total(), right.total())


def only_volatile(changes: Sequence[TextChange]) -> bool:
    """Whether nothing but volatile values differs."""
    return bool(changes) and all(
        change.cause in VOLATILE or set(change.candidates) & set(VOLATILE) for change in changes
    )
