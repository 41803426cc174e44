"""Any API's own usage object -> disjoint token classes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from cachecast_pricing.usage import Usage

Semantics = Literal["additive", "inclusive", "disjoint"]


@dataclass(frozen=True, slots=True)
class UsageReading:
    """A usage object, understood: classes, what stayed unknown, and how it was read."""

    usage: Usage
    semantics: Semantics
    unknown: frozenset[str] = frozenset()
    output_reasoning: int | None = None
    iterations: tuple["UsageReading", ...] = ()
    model: str | None = None
    service_tier: str | None = None
    regional: bool = False
    reported_cost: int | None = None
    reported_currency: str | None = None
    notes: tuple[str, ...] = ()


def read_usage(api: str, raw: Mapping[str, Any]) -> UsageReading:
    """The usage that `raw` states under the conventions of `api`."""
    raise NotImplementedError
