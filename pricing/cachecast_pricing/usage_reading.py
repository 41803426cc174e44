"""A usage object after it was understood."""

from dataclasses import dataclass
from typing import Literal

from cachecast_pricing.usage import Usage

Semantics = Literal["additive", "inclusive", "disjoint"]


@dataclass(frozen=True, slots=True)
class UsageReading:
    """Token classes, what stayed unknown, and how the object was read.

    A class named in `unknown` was null in the source. An inclusive object bounds it: its tokens
    are inside `usage.fresh`, which is then an upper bound. An additive one does not: `usage` is
    then a lower bound.
    """

    usage: Usage
    semantics: Semantics
    unknown: frozenset[str] = frozenset()  # of fresh, cache_read, cache_write, output
    output_reasoning: int | None = None
    iterations: tuple["UsageReading", ...] = ()
    model: str | None = None
    service_tier: str | None = None
    regional: bool = False
    reported_cost: int | None = None  # picounits
    reported_currency: str | None = None
    notes: tuple[str, ...] = ()
