"""Times of source logs, as integer microseconds from the log's zero."""

from datetime import UTC, datetime, timedelta
from typing import Annotated

import msgspec

from cachecast_datasets.checks import shown

MAX_S = 1e12  # 31,700 years; keeps every time inside 64-bit microseconds
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_Moment = Annotated[datetime, msgspec.Meta(tz=True)]


def microseconds(value: float, field: str, per_second: int = 1) -> int:
    """`value` (in 1/`per_second` seconds) as microseconds. ValueError if it is out of range."""
    if not 0 <= value <= MAX_S * per_second:
        raise ValueError(f"{field} is {shown(value)}, expected 0 <= {field} <= {MAX_S:g} s")
    return round(value * (1_000_000 / per_second))


def moment_us(text: str, field: str) -> int:
    """RFC 3339 with a zone, as microseconds since the Unix epoch. ValueError if it is not."""
    try:
        moment = msgspec.convert(text, _Moment)
    except msgspec.ValidationError:
        raise ValueError(
            f"{field} is {shown(text)}, expected seconds or RFC 3339 with a zone "
            "(2026-01-31T12:00:00Z)"
        ) from None
    return (moment - _EPOCH) // timedelta(microseconds=1)
