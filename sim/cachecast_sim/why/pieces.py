"""Texts as lists of pieces, to tell the same pieces in another order from pieces that changed."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from cachecast_sim.why.causes import REORDERED

EXAMPLES, PASSAGES = REORDERED
_ALIKE = 0.6  # share of the characters that both texts must have in common, to be the same pieces
_LEAST_JSON = 12
_HEADING = 2_000  # characters before the first moved piece in which a heading is looked for
_HEADING_LINE = re.compile(r"^(?:#.*|<[^<>]*>|.*:)\s*$", re.M)

# a number, bullet or index before a piece goes with its place, not with its content
_ENUMERATOR = re.compile(
    r"""^[\s#*>\-]*(?:\[\d+\]|\(\d+\)|(?:[A-Za-z]+\s*)?\#?\d+\s*[.):\]]|\d+\s+)?\s*"""
)
_INDEX = re.compile(r"""(\b(?:index|id|rank|n|no|number|position)\s*=\s*)["']?\d+["']?""", re.I)
_ELEMENT = re.compile(r"<([A-Za-z][\w:.-]*)(?:\s[^<>]*)?>.*?</\1\s*>", re.S)

_TOOL_WORDS = re.compile(r"<(?:tool|function)\b|\btools?\b|\bfunctions?\b", re.I)
_EXAMPLE_LABEL = re.compile(
    r"^[\W_]*(?:example|exemple|beispiel|ejemplo|esempio|exemplo|пример|例|shot|input|output|"
    r"question|answer|frage|antwort|q|a|user|assistant|human|eingabe|ausgabe)\b\W*\d*\s*[:>\]]?",
    re.I,
)
_PASSAGE_LABEL = re.compile(
    r"^[\W_]*(?:passage|document|doc|source|context|chunk|snippet|excerpt|result|search|quelle|"
    r"dokument|fuente|fonte|источник|документ|来源|文献|url|title|page|file|article|abstract|score)s?"
    r"\b",
    re.I,
)
_EXAMPLE_NOUN = re.compile(
    r"\b(?:few-?shot|examples?|exemples?|beispiele?|ejemplos?|demonstrations?)\b|例|пример", re.I
)
_PASSAGE_NOUN = re.compile(
    r"\b(?:retriev\w+|passages?|documents?|sources?|context|snippets?|excerpts?|chunks?|"
    r"search results?|knowledge|dokumente?|quellen?|fuentes?)\b|文献|документ",
    re.I,
)


@dataclass(frozen=True, slots=True)
class Reorder:
    """The same pieces in another order.

    `cause` None: one of `candidates`. `left_over` pairs what is in no common piece, theirs and
    ours; `offset` is where the first moved piece stands in ours.
    """

    cause: str | None
    candidates: tuple[str, ...]
    offset: int
    before: str
    after: str
    only_theirs: tuple[str, ...]
    only_ours: tuple[str, ...]


def reordered(theirs: str, ours: str) -> Reorder | None:
    """How two texts hold the same pieces in another order; None if they do not."""
    for split in _SPLITS:
        a, b = list(split(theirs)), list(split(ours))
        found = _permuted(theirs, ours, a, b)
        if found is not None:
            return found
    return None


def tool_list_change(theirs: str, ours: str) -> tuple[list[str], list[str]] | None:
    """(definitions only in theirs, only in ours) of tools that both texts list; None if none are.

    Only where nothing but these definitions differs among the pieces.
    """
    for split in (_json_items, _elements):
        a, b = list(split(theirs)), list(split(ours))
        common = Counter(a) & Counter(b)
        if not common or not all(map(is_tool, common)):
            continue
        gone = list((Counter(a) - common).elements())
        new = list((Counter(b) - common).elements())
        if (gone or new) and all(map(is_tool, (*gone, *new))):
            return gone, new
    return None


def _permuted(theirs: str, ours: str, a: list[str], b: list[str]) -> Reorder | None:
    keys_a, keys_b = [_key(p) for p in a], [_key(p) for p in b]
    common = Counter(k for k in keys_a if k) & Counter(k for k in keys_b if k)
    once = {k for k, n in common.items() if keys_a.count(k) == keys_b.count(k) == n == 1}
    order_a = [k for k in keys_a if k in once]
    order_b = [k for k in keys_b if k in once]
    if order_a == order_b or len(once) < 2:
        return None
    shared = sum(len(k) * n for k, n in common.items())
    if shared < _ALIKE * sum(map(len, keys_b)):
        return None
    first = next(i for i, (x, y) in enumerate(zip(order_a, order_b, strict=True)) if x != y)
    moved_a, moved_b = a[keys_a.index(order_a[first])], b[keys_b.index(order_b[first])]
    offset = max(0, ours.find(moved_b))
    displaced = {y for x, y in zip(order_a, order_b, strict=True) if x != y}
    moved = [p for p, k in zip(b, keys_b, strict=True) if k in displaced]
    cause, candidates = kind_of(moved, ours[max(0, offset - _HEADING) : offset])
    left = _left_over(a, keys_a, common), _left_over(b, keys_b, common)
    return Reorder(cause, candidates, offset, moved_a, moved_b, *left)


def _left_over(pieces: Sequence[str], keys: Sequence[str], common: Counter[str]) -> tuple[str, ...]:
    rest = Counter(common)
    found = []
    for piece, key in zip(pieces, keys, strict=True):
        if rest[key] > 0:
            rest[key] -= 1
        elif key:
            found.append(piece)
    return tuple(found)


def _key(piece: str) -> str:
    """The piece without its place: no number before it, no index, no blanks around."""
    return _INDEX.sub(r"\1", _ENUMERATOR.sub("", piece.strip())).strip(" \t\n,")


def kind_of(pieces: Sequence[str], heading: str) -> tuple[str | None, tuple[str, ...]]:
    """What moved: tools, examples or passages; None and candidates if nothing says which."""
    if all(is_tool(piece) for piece in pieces):
        return "tools_reordered", ()
    labels = {EXAMPLES: _share(_EXAMPLE_LABEL, pieces), PASSAGES: _share(_PASSAGE_LABEL, pieces)}
    best = max(labels, key=labels.__getitem__)
    if labels[best] > 0.5 and labels[best] > 2 * min(labels.values()):
        return best, ()
    nouns = {EXAMPLES: _EXAMPLE_NOUN, PASSAGES: _PASSAGE_NOUN}
    for line in reversed(_HEADING_LINE.findall(heading)):
        named = [cause for cause, noun in nouns.items() if noun.search(line)]
        if named:
            return (named[0], ()) if len(named) == 1 else (None, REORDERED)
    return None, REORDERED


def _share(label: re.Pattern[str], pieces: Sequence[str]) -> float:
    return sum(any(map(label.match, _heads(piece))) for piece in pieces) / len(pieces)


def _heads(piece: str) -> Sequence[str]:
    """What may name the kind of a piece: its first word, or the keys of a JSON object."""
    if piece.lstrip().startswith("{"):
        try:
            return tuple(json.loads(piece))
        except ValueError:
            pass
    return (_bare(piece),)


def _bare(piece: str) -> str:
    """The piece from its first word on; of a JSON object from its first key on."""
    return piece.lstrip("<[{(#*- \t\n\"'")


def is_tool(piece: str) -> bool:
    """Whether the piece defines a tool, as JSON or as an element."""
    if re.match(r"\s*<(?:tool|function)\b", piece):
        return True
    try:
        value = json.loads(piece)
    except ValueError:
        return False
    if isinstance(value, dict) and isinstance(value.get("function"), dict):
        value = value["function"]
    known = ("parameters", "input_schema", "inputSchema", "description", "arguments")
    return isinstance(value, dict) and "name" in value and any(key in value for key in known)


def json_values(text: str) -> Iterator[tuple[int, int, Any]]:
    """(start, end, value) of the JSON objects and arrays in a text, the outermost ones."""
    decoder, at = json.JSONDecoder(), 0
    while True:
        found = re.compile(r"[\[{]\s*[\"{\[]").search(text, at)
        if found is None:
            return
        try:
            value, end = decoder.raw_decode(text, found.start())
        except (ValueError, RecursionError):
            at = found.start() + 1
            continue
        if end - found.start() >= _LEAST_JSON:
            yield found.start(), end, value
        at = end


def _json_items(text: str) -> Iterator[str]:
    """The objects of all arrays in the text, keys sorted; objects that stand alone too."""
    for _, _, value in json_values(text):
        for item in value if isinstance(value, list) else [value]:
            yield json.dumps(item, sort_keys=True, ensure_ascii=False)


def _elements(text: str) -> Iterator[str]:
    """Elements of the names that occur more than once."""
    names = Counter(re.findall(r"<([A-Za-z][\w:.-]*)(?=[\s>])", text))
    for name in [name for name, count in names.items() if count > 1]:
        element = re.compile(rf"<{re.escape(name)}(?:\s[^<>]*)?>.*?</{re.escape(name)}\s*>", re.S)
        found = [match[0] for match in element.finditer(text)]
        if len(found) > 1:
            yield from found
            return


def _paragraphs(text: str) -> list[str]:
    return re.split(r"\n\s*\n|\n-{3,}\n", text)


def _entries(text: str) -> list[str]:
    """Numbered or bulleted entries, each with the lines behind it."""
    return re.split(r"\n(?=\s*(?:[-*•]\s|\[?\(?\d{1,3}[\].):]\s|#{1,6}\s))", text)


def _labelled(text: str) -> list[str]:
    """Pieces that begin with the word and colon that begins most lines."""
    heads = Counter(re.findall(r"^[^\S\n]*([^\W\d]\w{0,20})\s?\d*:", text, re.M))
    if not heads or max(heads.values()) < 2:
        return [text]
    head = next(name for name, count in heads.items() if count == max(heads.values()))
    return re.split(rf"\n(?=\s*{re.escape(head)}\s?\d*:)", text)


def _lines(text: str) -> list[str]:
    return text.split("\n")


_SPLITS: tuple[Callable[[str], Sequence[str] | Iterator[str]], ...] = (
    _json_items, _elements, _paragraphs, _entries, _labelled, _lines,
)  # fmt: skip
