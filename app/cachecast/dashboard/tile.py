"""A large number with what stands around it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tile:
    """One large number with its name, a line below and an explanation.

    `delta` is how much it changed; `less_is_good` whether a smaller number is the better one (None:
    neither is).
    """

    label: str
    value: str
    below: str | None = None
    help: str | None = None
    delta: str | None = None
    less_is_good: bool | None = None
