"""Scenarios that a person named and kept, and their form in the address of the page."""

from collections.abc import Sequence
from typing import NamedTuple

MOST = 12  # what a page and an address can hold
_LONGEST_NAME = 40


class Kept(NamedTuple):
    """A name and the text of `--change`."""

    name: str
    change: str


def keep(kept: Sequence[Kept], name: str, change: str) -> tuple[Kept, ...]:
    """With one more, in the place of one of that name if there is one; the oldest goes first."""
    one = Kept(_clean(name) or change, change)
    if any(other.name == one.name for other in kept):
        return tuple(one if other.name == one.name else other for other in kept)
    return (*kept, one)[-MOST:]


def without(kept: Sequence[Kept], name: str) -> tuple[Kept, ...]:
    """Without the one of that name."""
    return tuple(one for one in kept if one.name != name)


def to_address(kept: Sequence[Kept]) -> list[str]:
    """Values of `keep=`: `name~change`."""
    return [f"{one.name}~{one.change}" for one in kept]


def from_address(values: Sequence[str]) -> tuple[Kept, ...]:
    """The values read back; one without a scenario is left out."""
    found: tuple[Kept, ...] = ()
    for value in values:
        name, _, change = value.partition("~")
        if change:
            found = keep(found, name, change)
    return found


def _clean(name: str) -> str:
    return " ".join(name.replace("~", "-").split())[:_LONGEST_NAME]
