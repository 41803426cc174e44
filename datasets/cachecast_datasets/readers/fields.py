"""One row of a usage log, read field by field: value, zero and unknown are three things.

Every method raises ValueError with the field, its value and what is accepted; several names are
several spellings of one field, tried in order and never added.
"""

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any

from cachecast_datasets.checks import shown
from cachecast_datasets.json_depth import decoded_text

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MOST_TOKENS = 10**15  # far beyond any aggregate; keeps every sum in 64 bits
_MOST_MONEY = Decimal(10) ** 15
_MOST_EXPONENT = 30
_MOST_CHARACTERS = 100
_MOMENT = re.compile(
    r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}:\d{2}(?:[.,]\d{1,9})?(?: ?(?:Z|UTC|[+-]\d{2}(?::?\d{2})?))?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Fields:
    """One object with the way to it, for messages."""

    raw: Mapping[str, Any]
    path: str = ""

    def value(self, *names: str) -> Any:
        """The first of these that is there and not null; None if there is none."""
        for name in names:
            found = self.raw.get(name)
            if found is not None:
                return found
        return None

    def name(self, *names: str) -> str:
        """Which of these `value` took, with the way to it; the first where none is there."""
        return self.path + next((n for n in names if self.raw.get(n) is not None), names[0])

    def is_null(self, *names: str) -> bool:
        """Whether one of these is there as an explicit null and none has a value."""
        return any(name in self.raw for name in names) and self.value(*names) is None

    def count(self, *names: str) -> int | None:
        """A token count; 0 where the source leaves the field out, None where it says null."""
        if self.value(*names) is None:
            return None if self.is_null(*names) else 0
        return self.optional(*names)

    def optional(self, *names: str) -> int | None:
        """A token count, or None where there is none."""
        value = self.value(*names)
        return None if value is None else count_of(value, self.name(*names))

    def text(self, *names: str) -> str | None:
        """A string, or None where it is absent or empty."""
        value = self.value(*names)
        if value is None or value == "":
            return None
        if isinstance(value, bool) or not isinstance(value, str | int):
            raise ValueError(f"{self.name(*names)} is {shown(value)}, expected a string")
        return str(value)

    def truth(self, *names: str) -> bool | None:
        """True or false, also spelled out; None where it is absent, empty or null."""
        value = self.value(*names)
        if isinstance(value, bool) or value is None:
            return value
        word = str(value).strip().lower()
        if word not in ("true", "false", "t", "f", "1", "0", "none", ""):
            raise ValueError(f"{self.name(*names)} is {shown(value)}, expected true or false")
        return None if word in ("none", "") else word in ("true", "t", "1")

    def json(self, *names: str) -> Any:
        """A JSON value; a string that holds one (a cell of a CSV) is decoded."""
        value = self.value(*names)
        if isinstance(value, str) and value.lstrip()[:1] in ("{", "[", '"'):
            with suppress(ValueError):
                return decoded_text(value)
        return value

    def inner(self, *names: str) -> "Fields | None":
        """The object under one of these names, also as a string of JSON; None without it."""
        value = self.json(*names)
        if value is None or value == "":
            return None
        if not isinstance(value, Mapping):
            raise ValueError(f"{self.name(*names)} is {shown(value)}, expected an object")
        return Fields(value, f"{self.name(*names)}.")

    def moment_us(self, *names: str) -> int | None:
        """A date and time in microseconds since the Unix epoch; without a zone it is UTC."""
        value = self.value(*names)
        return None if value is None or value == "" else moment_us(value, self.name(*names))

    def arrival_us(self, *names: str) -> int:
        """The same, and it must be there."""
        found = self.moment_us(*names)
        if found is None:
            raise ValueError(f"{self.path}{names[0]} is missing, expected a date and time")
        return found

    def seconds(self, *names: str, per_second: float = 1) -> float | None:
        """A duration in seconds, from 1/`per_second` seconds."""
        value = self.value(*names)
        if value is None or value == "":
            return None
        number = number_of(value, self.name(*names)) / Decimal(per_second)
        if not 0 <= number <= 10**9:
            raise ValueError(f"{self.name(*names)} is {shown(value)}, expected 0 to 1e9 seconds")
        return float(number)

    def money(self, *names: str) -> Decimal | None:
        """An amount of money, rounded to 12 decimals."""
        value = self.value(*names)
        if value is None or value == "":
            return None
        amount = number_of(value, self.name(*names))
        if abs(amount) > _MOST_MONEY:
            raise ValueError(f"{self.name(*names)} is {shown(value)}, expected an amount of money")
        return amount.quantize(Decimal("1e-12"))


def count_of(value: Any, name: str) -> int:
    """A whole number >= 0, also as a string of digits (OTLP) or as 3.0 (CSV)."""
    if type(value) is int and 0 <= value <= _MOST_TOKENS:  # nearly always
        return value
    number = number_of(value, name)
    if number != number.to_integral_value() or not 0 <= number <= _MOST_TOKENS:
        raise ValueError(f"{name} is {shown(value)}, expected a whole number of tokens >= 0")
    return int(number)


def number_of(value: Any, name: str) -> Decimal:
    """A finite number, also as a string.

    One with an exponent of nine digits is refused, not worked with: as an integer or a fraction it
    would fill the memory.
    """
    try:
        if isinstance(value, bool) or not isinstance(value, int | float | str | Decimal):
            raise InvalidOperation
        text = str(value).strip()
        number = Decimal(text)
        if not number.is_finite() or len(text) > _MOST_CHARACTERS:
            raise InvalidOperation
    except InvalidOperation:
        raise ValueError(f"{name} is {shown(value)}, expected a number") from None
    if not number:
        return Decimal(0)
    if abs(number.adjusted()) > _MOST_EXPONENT:
        accepted = f"0 or a number from 1e-{_MOST_EXPONENT} to 1e{_MOST_EXPONENT}"
        raise ValueError(f"{name} is {shown(value)}, expected {accepted}")
    return number


def moment_us(value: Any, name: str) -> int:
    """`YYYY-MM-DD HH:MM:SS[.f][zone]` as microseconds since the epoch; without a zone it is UTC."""
    try:
        if not isinstance(value, str) or not _MOMENT.fullmatch(value.strip()):
            raise ValueError
        text = value.strip().upper().replace(",", ".").replace("UTC", "Z").replace(" Z", "Z")
        moment = datetime.fromisoformat(re.sub(r" ([+-])", r"\1", text))
        us = (moment.replace(tzinfo=moment.tzinfo or UTC) - _EPOCH) // timedelta(microseconds=1)
    except (ValueError, OverflowError):
        us = -1
    if us < 0:
        raise ValueError(
            f"{name} is {shown(value)}, expected a date and time since 1970 "
            "(2026-01-31 12:00:00.5, UTC where it has no zone)"
        )
    return us


def seconds_between(start_us: int, later_us: int | None) -> float | None:
    """Seconds from the arrival to a later moment; None where that is unknown or earlier."""
    return None if later_us is None or later_us < start_us else (later_us - start_us) / 1_000_000
