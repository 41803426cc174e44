"""What was seen of a miss, in a few words."""

from collections.abc import Iterator, Mapping
from typing import Any

from cachecast_sim.why.causes import Finding, Place


def seen(finding: Finding) -> str:
    """The place and the exact characters, else the evidence, in one line."""
    place = finding.place
    if place is not None:
        return shown_place(place)
    return ", ".join(_words(finding.evidence)) or str(finding.evidence.get("note", ""))


def _words(evidence: Mapping[str, Any]) -> Iterator[str]:
    """Evidence as a person says it; what has no words of its own as name and value."""
    told = {k: v for k, v in evidence.items() if k not in ("compared_with", "note")}
    if "entry_tokens" in told:
        yield f"an entry of {told.pop('entry_tokens'):,} tokens"
    if "expired_s_ago" in told:
        yield f"expired {told.pop('expired_s_ago'):,.0f} s before"
    if {"asked_tokens", "minimum_tokens"} <= set(told):
        asked, least = told.pop("asked_tokens"), told.pop("minimum_tokens")
        yield f"{asked:,} tokens asked for, {least:,} are the least"
    for key, value in told.items():
        yield f"{key.replace('_', ' ')} {_plain(value)}"


def shown_place(place: Place) -> str:
    """The block, the character, and what stood there before and after."""
    return f"{_where(place)}{_characters(place)}"


def _where(place: Place) -> str:
    block = "" if place.block is None else f" block {place.block}"
    if place.block is None and place.tokens is not None:
        block = f", behind {place.tokens:,} tokens"
    label = f" {place.label}" if place.label else ""
    offset = "" if place.offset is None else f", character {place.offset:,}"
    return f"{place.section}{block}{label}{offset}"


def _characters(place: Place) -> str:
    if place.before is None or place.after is None or not (place.before or place.after):
        return ""
    return f": {_short(place.before)} → {_short(place.after)}"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return f"“{line[:37]}…”" if len(line) > 40 else f"“{line}”"


def _plain(value: object) -> str:
    if value is None:
        return "not set"
    if isinstance(value, float):
        return f"{value:,.1f}"
    if isinstance(value, list):
        return " → ".join(map(_plain, value))
    if isinstance(value, dict):
        return "; ".join(f"{key}: {_plain(inner)}" for key, inner in value.items())
    return str(value)
