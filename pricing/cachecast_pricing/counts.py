"""Reading token counts out of a usage object: value, zero and unknown are three things."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from cachecast_datasets.errors import BadInput
from cachecast_pricing.money import PICO

ABSENT = object()
_MOST_TOKENS = 10**15  # far beyond any aggregate; keeps every sum in 64 bits


class UsageError(BadInput):
    """A usage object that contradicts itself or holds something that is no token count."""


def count_of(value: object, name: str) -> int:
    """A token count; UsageError for what is negative, fractional, NaN, a bool or no number.

    A whole number may come as a string of digits (OTLP) or as 3.0 (CSV exports).
    """
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 20:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise UsageError(f"{name} is {_shown(value)}, expected a whole number of tokens")
    exact = Decimal(value)
    if not exact.is_finite():
        raise UsageError(f"{name} is {value}, expected a whole number of tokens")
    if exact < 0:
        raise UsageError(f"{name} is {value}, expected >= 0")
    if exact > _MOST_TOKENS:
        raise UsageError(f"{name} is {value}, expected at most {_MOST_TOKENS}")
    if exact != exact.to_integral_value():
        raise UsageError(f"{name} is {value}, expected a whole number of tokens")
    return int(exact)


def _shown(value: object) -> str:
    """The value as JSON would show it, cut short."""
    text = str(value).lower() if isinstance(value, bool) else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


@dataclass(slots=True)
class Fields:
    """One usage object (or an object inside it) with the way to it, for messages.

    `nulls` collects the names of counts that were null.
    """

    raw: Mapping[str, Any]
    path: str = ""
    nulls: set[str] = field(default_factory=set)

    def get(self, name: str) -> object:
        """The raw value, or ABSENT."""
        return self.raw.get(name, ABSENT)

    def first(self, *names: str) -> int | None:
        """The first of these fields that is there: a count, or None if it is null.

        0 if none is there: a class that the API leaves out is empty. Several spellings of one
        count are never added; a null gives way to a later value.
        """
        null = False
        for name in names:
            value = self.get(name)
            if value is None:
                null = True
            elif value is not ABSENT:
                return count_of(value, self.path + name)
        return None if null else 0

    def has(self, *names: str) -> bool:
        """Whether one of these fields is there and not null."""
        return any(self.raw.get(name) is not None for name in names)

    def optional(self, *names: str) -> int | None:
        """Like `first`, but None also where no field is there (for totals and details)."""
        return self.first(*names) if self.has(*names) else None

    def inner(self, *names: str) -> "Fields | None":
        """The first of these inner objects that is there; None if it is null or not there."""
        for name in names:
            value = self.raw.get(name)
            if value is None:
                continue
            if not isinstance(value, Mapping):
                raise UsageError(f"{self.path}{name} is {_shown(value)}, expected an object")
            return Fields(value, f"{self.path}{name}.")
        return None

    def is_null(self, *names: str) -> bool:
        """Whether one of these is there as an explicit null and none has a value."""
        return any(name in self.raw for name in names) and not self.has(*names)


def money_of(value: object, name: str, per_unit: int = PICO) -> int:
    """A reported amount in picounits, `per_unit` of them for 1 (half-even to a picounit)."""
    if isinstance(value, bool) or not isinstance(value, int | float | str | Decimal):
        raise UsageError(f"{name} is {_shown(value)}, expected an amount of money")
    try:
        amount = Decimal(str(value))
    except ArithmeticError:
        raise UsageError(f"{name} is {value!r}, expected an amount of money") from None
    if not amount.is_finite():
        raise UsageError(f"{name} is {value}, expected a finite amount of money")
    return int((amount * per_unit).to_integral_value())


def known_sum(counts: Iterable[int | None]) -> int:
    """The sum of the counts that are known."""
    return sum(count for count in counts if count is not None)
