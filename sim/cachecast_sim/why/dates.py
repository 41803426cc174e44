"""Written dates and times in many scripts, and whether they moved as far as the requests did."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime

from cachecast_sim.why.calendar_words import is_calendar_word, is_day, is_month

_NEAR = 28  # characters beside a value that may belong to the same date
_DAY_S = 86_400
_SLACK_DAYS = 1.5  # a day may end between two requests, and time zones differ
_SLACK_S = 61  # a clock that shows minutes

_TIME = re.compile(
    r"(?<!\d)(?:(?:[01]\d|2[0-4]):[0-5]\d|\d{1,2}:[0-5]\d:[0-5]\d"
    r"|\d{1,2}(?::[0-5]\d){0,2}\s?[ap]\.?m\b|\d{1,2}\s?[hH時时点시]\s?[0-5]?\d)(?!\d)",
    re.I,
)
_YEAR_FIRST = re.compile(
    r"(?<!\d)(?:(?:19|20|25)\d{2}\s?[-/.]\s?\d{1,2}\s?[-/.]\s?\d{1,2}(?!\d)"
    r"|\d{1,4}\s?[年년](?:\s?\d{1,2}\s?[月월](?:\s?\d{1,2}\s?[日일])?)?)"
)
_YEAR_LAST = re.compile(
    r"(?<![\d.])(?:\d{1,2}[-/.]\s?\d{1,2}[-/.]\s?(?:19|20|25)\d{2}"
    r"|\d{2}[/.](?:0[1-9]|1[0-2])[/.]\d{2}|(?:0[1-9]|1[0-2])/\d{2}/\d{2})(?![\d.])"
)
_COMPACT = re.compile(r"(20\d{2})(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])(?:[T_\-]?\d{4,9}Z?)?")
_WEEK = re.compile(r"(?:20\d\d[-\s]?)[WwKk]{1,2}\s?\d{1,2}")
_YEAR = re.compile(r"(?<!\d)(?:19|20|25)\d{2}(?!\d)")
_INTEGER = re.compile(r"\d+")
_LETTERS = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True, slots=True)
class Moments:
    """Microseconds between the two requests, and when the later one came, if times are absolute.

    `elapsed_us` None: nobody knows, as for two files; then every step of a clock agrees.
    """

    elapsed_us: int | None
    later: datetime | None = None

    @property
    def elapsed_s(self) -> float | None:
        """Seconds between the two requests."""
        return None if self.elapsed_us is None else self.elapsed_us / 1e6


@dataclass(frozen=True, slots=True)
class Changed:
    """One changed value and what stands beside it on its line, before and after the change."""

    before: str
    after: str
    left: str
    right: str
    right_before: str

    def windows(self) -> tuple[str, str]:
        """Both values with what may belong to the same date."""
        left = self.left[-_NEAR:]
        return (
            f"{left}{self.before}{self.right_before[:_NEAR]}",
            f"{left}{self.after}{self.right[:_NEAR]}",
        )


def in_a_date(value: Changed) -> bool:
    """Whether both values are a date or a time, or a part of one."""
    at = len(value.left[-_NEAR:])
    texts = (value.before, value.after)
    return all(_dated(t, w, at) for t, w in zip(texts, value.windows(), strict=True))


def _dated(text: str, window: str, at: int) -> bool:
    if _COMPACT.fullmatch(text) or _WEEK.fullmatch(text):
        return True
    end = at + len(text)
    for pattern in (_TIME, _YEAR_FIRST, _YEAR_LAST):
        if any(m.start() < end and m.end() > at for m in pattern.finditer(window)):
            return True
    words = _LETTERS.findall(text)
    numbers = [int(n) for n in _INTEGER.findall(text)]
    if words and not numbers:
        return all(is_calendar_word(word) for word in words)
    beside = _LETTERS.findall(window[max(0, at - 16) : end + 16])
    small = bool(numbers) and all(n <= 31 or 1900 <= n <= 2600 for n in numbers)
    dated = any(map(is_month, beside)) or any(map(is_day, beside))
    return small and dated and bool(_YEAR.search(window))


def agrees_with_time(value: Changed, moments: Moments) -> bool:
    """Whether the date or time moved as the requests did; False if a person may have changed it.

    A whole date may move by the days between the requests and one more, a time of day by the
    seconds between them. A day or month alone agrees where a year or a time stands beside it.
    """
    if moments.elapsed_s is None:
        return True
    before, after = value.windows()
    days = [list(_dates(before)), list(_dates(after))]
    if all(days):
        most = moments.elapsed_s / _DAY_S + _SLACK_DAYS
        return any(0 <= (b - a).days <= most for a in days[0] for b in days[1])
    times = [list(_times(before)), list(_times(after))]
    if all(times):
        moved = (times[1][0] - times[0][0] - moments.elapsed_s) % (_DAY_S / 2)
        return min(moved, _DAY_S / 2 - moved) <= _SLACK_S
    return bool(_YEAR.search(after) or _TIME.search(after))


def _dates(text: str) -> Iterator[date]:
    """The calendar days that a text can mean."""
    for match in _COMPACT.finditer(text):
        yield from _day(match[1], match[2], match[3])
    for match in _YEAR_FIRST.finditer(text):
        numbers = _INTEGER.findall(match[0])
        if len(numbers) == 3:
            yield from _day(*numbers)
    for match in _YEAR_LAST.finditer(text):
        first, second, year = _INTEGER.findall(match[0])
        yield from _day(year, second, first)
        yield from _day(year, first, second)


def _day(year: str, month: str, day: str) -> Iterator[date]:
    try:
        yield date(int(year), int(month), int(day))
    except ValueError:
        return


def _times(text: str) -> Iterator[int]:
    """Seconds since midnight (or noon) of the times of day in a text."""
    for match in _TIME.finditer(text):
        numbers = [int(n) for n in _INTEGER.findall(match[0])]
        hours, minutes, seconds = [*numbers, 0, 0][:3]
        after = re.match(r":([0-5]\d)", text[match.end() :])
        if after and len(numbers) == 2:
            seconds = int(after[1])
        yield hours * 3_600 + minutes * 60 + seconds
