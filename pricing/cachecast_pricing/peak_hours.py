"""Peak hours of a price list: weekdays and times of day in UTC, as a file writes them."""

import re
from collections.abc import Sequence
from datetime import date
from fractions import Fraction

from cachecast_datasets.errors import BadInput
from cachecast_pricing.rates import PeakHours

WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_CLOCK = re.compile(r"(?P<hour>[01][0-9]|2[0-4]):(?P<minute>[0-5][0-9])")
_DAY = 24 * 60


def peak_hours(
    factor: Fraction, weekdays: Sequence[str], hours: Sequence[tuple[str, str]],
    holidays: Sequence[date],
) -> PeakHours:  # fmt: skip
    """The hours; BadInput for an unknown weekday, a time that is none, and an inverted window."""
    for day in weekdays:
        if day not in WEEKDAYS:
            raise BadInput(f"peak.weekdays: {day!r}, accepted: {', '.join(WEEKDAYS)}")
    if not weekdays or not hours:
        raise BadInput("peak needs at least one weekday and one pair of hours")
    days = frozenset(WEEKDAYS.index(day) for day in weekdays)
    windows = tuple(_window(start, end) for start, end in hours)
    return PeakHours(factor, days, windows, frozenset(holidays))


def _window(start: str, end: str) -> tuple[int, int]:
    first, last = _minute(start), _minute(end)
    if first >= last:
        raise BadInput(
            f"peak.hours: {start!r} to {end!r}, expected a start before the end; "
            "hours across midnight are two pairs, the first one to 24:00"
        )
    return first, last


def _minute(clock: str) -> int:
    """Minutes since midnight of "HH:MM"."""
    found = _CLOCK.fullmatch(clock)
    minutes = int(found["hour"]) * 60 + int(found["minute"]) if found else _DAY + 1
    if minutes > _DAY:
        raise BadInput(f"peak.hours: {clock!r}, expected a time as 09:00 (UTC, up to 24:00)")
    return minutes
