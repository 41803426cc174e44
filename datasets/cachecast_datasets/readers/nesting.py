"""Which of the nested spans of a trace are model calls of their own, and which say them again.

A wrapper (an agent's span, an SDK around another SDK) repeats or sums what its inner calls used.
A turn that merely names the turn before it as its parent is no such thing: it starts later.
"""

from collections.abc import Sequence
from typing import NamedTuple


class Span(NamedTuple):
    """What nesting is judged by; `call`: it may be a model call; `told`: it has token counts."""

    key: str
    parent: str | None
    start_us: int
    end_us: int | None
    call: bool
    told: bool
    response_id: str | None = None


def repeated(spans: Sequence[Span]) -> tuple[set[int], set[int]]:
    """(indexes of wrappers, indexes of calls told twice): model calls that must not be counted."""
    wrappers = _wrappers(spans)
    twice: set[int] = set()
    first: dict[tuple[str, str], int] = {}
    for index, span in enumerate(spans):
        if not span.call or index in wrappers:
            continue
        names = [("span", span.key)]
        if span.response_id is not None:
            names.append(("response", span.response_id))
        kept = next((first[name] for name in names if name in first), None)
        if kept is None:
            first.update(dict.fromkeys(names, index))
        elif span.told and not spans[kept].told:
            twice.add(kept)
            first.update(dict.fromkeys(names, index))
        else:
            twice.add(index)
    return wrappers, twice


def _wrappers(spans: Sequence[Span]) -> set[int]:
    place = {span.key: index for index, span in enumerate(spans)}
    inner: dict[int, list[int]] = {}
    for index, span in enumerate(spans):
        if not span.call:
            continue
        seen = {index}
        above = place.get(span.parent) if span.parent is not None else None
        while above is not None and above not in seen:
            seen.add(above)
            outer = spans[above]
            if outer.call and outer.key != span.key and _holds(outer, span):
                inner.setdefault(above, []).append(index)
            above = place.get(outer.parent) if outer.parent is not None else None
    dropped: set[int] = set()
    for outer_index, calls in inner.items():
        if spans[outer_index].told and not any(spans[call].told for call in calls):
            dropped.update(calls)  # only the wrapper was told what it used
        else:
            dropped.add(outer_index)
    return dropped


def _holds(outer: Span, span: Span) -> bool:
    """Whether `span` ran inside `outer`."""
    if span.start_us < outer.start_us:
        return False
    return outer.end_us is None or span.start_us < outer.end_us or span.start_us == outer.start_us


def notes_of(wrappers: int, twice: int, what: str) -> list[str]:
    """What was left out, in words."""
    notes = []
    if wrappers:
        notes.append(f"{wrappers:,} {what} wrap other model calls and are not counted")
    if twice:
        notes.append(f"{twice:,} {what} repeat a response already told and are not counted")
    return notes
