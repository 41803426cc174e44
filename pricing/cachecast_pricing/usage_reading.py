"""A usage object after it was understood."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

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
    standard_tier: bool = False  # whether the source says that it was the standard one
    regional: bool = False
    reported_cost: int | None = None  # picounits
    reported_currency: str | None = None
    notes: tuple[str, ...] = ()


class CountFields(NamedTuple):
    """The fields in which an API states its input and its output tokens.

    `beside` are counts that make a prompt without an input field: those beside an additive input.
    `cached` are counts inside the input, which say nothing without it.
    """

    input: tuple[str, ...]
    output: tuple[str, ...]
    beside: tuple[str, ...] = ()
    cached: tuple[str, ...] = ()

    @property
    def all(self) -> frozenset[str]:
        """Every one of these fields."""
        return frozenset(self.input + self.output + self.beside + self.cached)


class Api(Protocol):
    """A module of apis/: its fields, and its reader of a raw usage object."""

    FIELDS: CountFields

    def read(self, raw: Mapping[str, Any]) -> UsageReading:
        """The usage of one object."""
