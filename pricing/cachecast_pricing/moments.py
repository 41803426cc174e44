"""The moment that prices are asked for: a time, or only a day."""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from cachecast_datasets.errors import BadInput

_YEARS = range(2000, 2200)
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIME = re.compile(
    r"[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?(?P<zone>Z|[+-][0-9]{2}:?[0-9]{2})?"
)


@dataclass(frozen=True, slots=True)
class When:
    """The moment to price at; `bare` if only the day is known. `notes` say where it came from."""

    start: datetime
    bare: bool
    notes: tuple[str, ...] = ()

    @property
    def end(self) -> datetime:
        """The end of the day that starts at `start`."""
        return self.start + timedelta(days=1)


def parse_when(text: str | None, newest: date) -> When:
    """A date, or an RFC 3339 time with its zone; None is the newest date in the catalogue.

    Raises BadInput for anything else, and for a year out of `_YEARS`.
    """
    if text is None:
        note = f"no date given: priced at {newest}, the newest date in the catalogue"
        return When(datetime(newest.year, newest.month, newest.day, tzinfo=UTC), True, (note,))
    text = text.strip()
    moment = _moment(text)
    if moment is None:
        raise BadInput(f"date {text!r}, expected YYYY-MM-DD or a time like 2026-11-16T02:30:00Z")
    if moment.year not in _YEARS:
        first, last = _YEARS[0], _YEARS[-1]
        raise BadInput(f"date {text!r}, expected a date from {first}-01-01 to {last}-12-31")
    if len(text) == len("2026-11-16"):
        return When(moment.replace(tzinfo=UTC), True)
    if moment.tzinfo is None:
        raise BadInput(f"date {text!r} has no time zone, add Z or an offset like +08:00")
    return When(moment.astimezone(UTC), False)


def _moment(text: str) -> datetime | None:
    """What the text says; None for every other form that ISO 8601 knows (weeks, days of a year)."""
    text = text.upper()
    day, rest = text[:10], text[10:]
    if not _DAY.fullmatch(day) or (rest and not _TIME.fullmatch(rest)):
        return None
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None
