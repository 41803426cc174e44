"""Times of source logs, as integer microseconds from the log's zero."""

import re
from datetime import UTC, datetime, timedelta
from typing import Annotated

import msgspec

from cachecast_datasets.limits import MAX_S, MAX_US, MOMENTS
from cachecast_datasets.shown import shown

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_Moment = Annotated[datetime, msgspec.Meta(tz=True)]
Seconds = Annotated[float, msgspec.Meta(ge=0, le=float(MAX_S))]


def microseconds(value: float, field: str, per_second: int = 1) -> int:
    """`value` (in 1/`per_second` seconds) as microseconds. ValueError if it is out of range."""
    if not 0 <= value <= MAX_S * per_second:
        raise ValueError(f"{field} is {shown(value)}, expected 0 <= {field} <= {MAX_S:g} s")
    return round(value * (1_000_000 / per_second))


def moment_us(text: str, field: str) -> int:
    """RFC 3339 with a zone, as microseconds since the Unix epoch. ValueError if it is not."""
    try:
        us = (msgspec.convert(text, _Moment) - _EPOCH) // timedelta(microseconds=1)
    except msgspec.ValidationError:
        raise ValueError(
            f"{field} is {shown(text)}, expected seconds or RFC 3339 with a zone "
            "(2026-01-31T12:00:00Z)"
        ) from None
    except OverflowError:  # year 1 with a zone east of Greenwich
        us = -1
    if not 0 <= us <= MAX_US:
        raise ValueError(f"{field} is {shown(text)}, expected {MOMENTS}")
    return us


def any_moment(value: object, field: str) -> tuple[int, bool]:
    """(microseconds, whether they count from the Unix epoch) of a time as programs write it.

    RFC 3339; the same without a zone, taken as UTC; Unix seconds, milliseconds, microseconds or
    nanoseconds by their size; smaller numbers are seconds from the log's own zero.
    """
    if isinstance(value, str):
        text = value.strip().replace(" ", "T", 1)
        if text[-1:].isdigit() and "T" in text and not _ZONE.search(text):
            text += "Z"
        return moment_us(text, field), True
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{field} is {shown(value)}, expected a time")
    for least, per_second in ((1e17, 10**9), (1e14, 10**6), (1e11, 1000), (1e8, 1)):
        if value >= least:
            return microseconds(value, field, per_second), True
    return microseconds(value, field), False


_ZONE = re.compile(r"[+-]\d{2}:?\d{2}$")
