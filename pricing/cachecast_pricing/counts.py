"""Reading token counts out of a usage object: value, zero and unknown are three things."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from cachecast_datasets.errors import BadInput
from cachecast_pricing.money import PICO

ABSENT = object()
_MOST_TOKENS = 10**15  # far beyond any aggregate; keeps every sum in 64 bits
_MOST_MONEY = 10**15  # an amount in picounits is exact in the 28 digits of decimal's context
_AMOUNT = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,3})?")


class UsageError(BadInput):
    """A usage object that contradicts itself or holds something that is no token count."""


def count_of(value: object, name: str) -> int:
    """A token count; UsageError for what is negative, fractional, NaN, a bool or no number.

    A whole number may come as a string of digits (OTLP) or as 3.0 (CSV exports).
    """
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 20:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise UsageError(f"{name} is {shown(value)}, expected a whole number of tokens")
    exact = Decimal(value)
    if not exact.is_finite():
        raise UsageError(f"{name} is {shown(value)}, expected a whole number of tokens")
    if exact < 0:
        raise UsageError(f"{name} is {shown(value)}, expected >= 0")
    if exact > _MOST_TOKENS:
        raise UsageError(f"{name} is {shown(value)}, expected at most {_MOST_TOKENS}")
    if exact != exact.to_integral_value():
        raise UsageError(f"{name} is {shown(value)}, expected a whole number of tokens")
    return int(exact)


def shown(value: object) -> str:
    """The value as JSON would show it, on one line and cut short."""
    if isinstance(value, Mapping | list):
        return "an object" if isinstance(value, Mapping) else "a list"
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    # an int of thousands of digits has no text in Python, as a Decimal it has
    text = str(Decimal(value)) if isinstance(value, int) else str(value)
    if isinstance(value, str):
        text = ascii(value) if not value.isprintable() else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def shown_names(names: Iterable[str], most: int = 8) -> str:
    """Names of fields, sorted, on one line and cut short; "nothing" for none."""
    found = sorted(names)
    words = [name if name.isprintable() and len(name) <= 60 else shown(name) for name in found]
    more = f" and {len(words) - most} more" if len(words) > most else ""
    return f"{', '.join(words[:most])}{more}" if words else "nothing"


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
                raise UsageError(f"{self.path}{name} is {shown(value)}, expected an object")
            return Fields(value, f"{self.path}{name}.")
        return None

    def text(self, name: str) -> str | None:
        """A field that holds a word; None if it is null or not there."""
        value = self.raw.get(name)
        if value is not None and not isinstance(value, str):
            raise UsageError(f"{self.path}{name} is {shown(value)}, expected text")
        return value

    def is_null(self, *names: str) -> bool:
        """Whether one of these is there as an explicit null and none has a value."""
        return any(name in self.raw for name in names) and not self.has(*names)


def money_of(value: object, name: str, per_unit: int = PICO) -> int:
    """A reported amount in picounits, `per_unit` of them for 1 (half-even to a picounit).

    UsageError for what is negative, no finite number, or more than any bill.
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str | Decimal):
        raise UsageError(f"{name} is {shown(value)}, expected an amount of money")
    if isinstance(value, str) and (len(value) > 60 or not _AMOUNT.fullmatch(value)):
        raise UsageError(f"{name} is {shown(value)}, expected an amount of money")
    amount = Decimal(str(value)) if isinstance(value, float | str) else Decimal(value)
    if not amount.is_finite():
        raise UsageError(f"{name} is {shown(value)}, expected a finite amount of money")
    if not 0 <= amount <= _MOST_MONEY:
        raise UsageError(f"{name} is {shown(value)}, expected an amount from 0 to {_MOST_MONEY}")
    return int((amount * per_unit).to_integral_value())


def known_sum(counts: Iterable[int | None]) -> int:
    """The sum of the counts that are known."""
    return sum(count for count in counts if count is not None)
