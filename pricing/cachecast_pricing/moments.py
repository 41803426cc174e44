"""The moment that prices are asked for: a time, or only a day."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from cachecast_datasets.errors import BadInput

_YEARS = range(2000, 2200)


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

    Raises BadInput for anything else.
    """
    if text is None:
        note = f"no date given: priced at {newest}, the newest date in the catalogue"
        return When(datetime(newest.year, newest.month, newest.day, tzinfo=UTC), True, (note,))
    text = text.strip()
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if moment is None or moment.year not in _YEARS:
        raise BadInput(f"date {text!r}, expected YYYY-MM-DD or a time like 2026-11-16T02:30:00Z")
    if len(text) == len("2026-11-16"):
        return When(moment.replace(tzinfo=UTC), True)
    if moment.tzinfo is None:
        raise BadInput(f"date {text!r} has no time zone, add Z or an offset like +08:00")
    return When(moment.astimezone(UTC), False)
