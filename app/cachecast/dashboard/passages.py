"""What two prompts say where they part: a few characters around it, and nothing else of them."""

from collections.abc import Callable, Iterator, Sequence
from html import escape
from typing import Any

from cachecast_sim.ledger import LedgerRow
from cachecast_sim.why.causes import Finding, Place

_AROUND = 240  # characters that stand beside a difference
_WHOLE = 480  # of a block that is new or gone as a whole
_MOST = 4  # differences of one request that are shown

TextsOf = Callable[[str], Sequence[str] | None]
Passage = dict[str, Any]


def passages_of(row: LedgerRow, finding: Finding, texts_of: TextsOf) -> dict[str, Any]:
    """`cause`, `candidates` and the `passages` of one request that missed.

    A passage has `cause`, the `section`, `block` and `offset` of the difference, the text `lead`
    before it and `tail` behind it in this prompt, and `before` and `after`, what stood there in
    the earlier prompt and what stands there now; `before` is None where only a block is known.
    """
    ours = texts_of(row.request.request_id)
    return {
        "cause": finding.cause,
        "candidates": list(finding.candidates),
        "compared_with": finding.compared_with,
        "passages": [] if ours is None else list(_passages(finding, ours))[:_MOST],
    }


def _passages(finding: Finding, ours: Sequence[str]) -> Iterator[Passage]:
    own = [] if finding.place is None else [(finding.name, finding.place)]
    also = [(d.cause or "unknown", d.place) for d in finding.also if d.place is not None]
    seen: set[tuple[int | None, int | None]] = set()
    for cause, place in (*own, *also):
        if place.block is None or place.block >= len(ours):
            continue
        if (place.block, place.offset) not in seen:
            seen.add((place.block, place.offset))
            yield _passage(cause, place, ours[place.block])


def _passage(cause: str, place: Place, text: str) -> Passage:
    found = {
        "cause": cause, "section": place.section, "block": place.block, "offset": place.offset,
        "label": place.label,
    }  # fmt: skip
    if place.offset is None or place.after is None:
        return found | {"lead": "", "before": None, "after": text[:_WHOLE], "tail": ""}
    at, end = place.offset, place.offset + len(place.after)
    return found | {
        "lead": text[max(0, at - _AROUND) : at],
        "before": place.before or "",
        "after": place.after,
        "tail": text[end : end + _AROUND] if text[at:end] == place.after else "",
    }


_PRE = (
    "white-space:pre-wrap;overflow-wrap:anywhere;font:0.85rem/1.5 ui-monospace,monospace;"
    "border:1px solid rgba(128,128,128,.35);border-radius:4px;padding:.6rem .8rem;margin:0 0 .5rem"
)
_MARK = "background:{};color:inherit;border-radius:2px;padding:0 1px"
_COLOURS = {"before": "rgba(222,130,84,.40)", "after": "rgba(26,173,141,.40)"}


def as_html(passage: Passage, side: str) -> str:
    """The passage as it was (`before`) or is (`after`), every character of the texts escaped."""
    changed = passage[side] or ""
    mark = f'<mark style="{_MARK.format(_COLOURS[side])}">{escape(changed) or "∅"}</mark>'
    lead = ("…" if (passage["offset"] or 0) > len(passage["lead"]) else "") + passage["lead"]
    tail = passage["tail"] + ("…" if len(passage["tail"]) == _AROUND else "")
    return f'<div style="{_PRE}">{escape(lead)}{mark}{escape(tail)}</div>'
