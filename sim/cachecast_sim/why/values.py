"""What a value that changed between two prompts is: a clock, an id, a counter, or undecided.

A value is judged by its shape, by the words before it, and by time: a clock moves as far as the
requests are apart. What these do not decide is a list of candidates, and what is no value is None.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime

from cachecast_sim.why.calendar_words import is_calendar_word, is_day, is_month
from cachecast_sim.why.causes import VOLATILE

CLOCK, IDENTIFIER, COUNTER = VOLATILE
_NEAR = 28  # characters beside a value that may belong to the same date
_FEW_SECONDS = 20  # below this a clock and a counter move alike


@dataclass(frozen=True, slots=True)
class Moments:
    """Microseconds between the two requests, and when the later one came, if times are absolute."""

    elapsed_us: int
    later: datetime | None = None

    @property
    def elapsed_s(self) -> float:
        """Seconds between the two requests."""
        return self.elapsed_us / 1e6


@dataclass(frozen=True, slots=True)
class Changed:
    """One changed value and what stands beside it on its line, before and after the change."""

    before: str
    after: str
    left: str
    right: str
    right_before: str


Verdict = tuple[str | None, tuple[str, ...]]  # (certain cause, candidates)
_UNDECIDED: Verdict = (None, VOLATILE)

_UUID = re.compile(r"[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}", re.I)
_ULID = re.compile(r"[0-7][0-9A-HJKMNP-TV-Z]{25}", re.I)
_PREFIXED = re.compile(r"[a-z][a-z0-9]{0,15}[_\-:#/](?=\w*\d)[\w\-]{6,}", re.I)
_HEX = re.compile(r"(?:0x)?[0-9a-f]{4,}", re.I)
_BASE32 = re.compile(r"[A-Z2-7]{8,}=*|[a-z2-7]{10,}")
_MIXED = re.compile(r"[\w+/\-]{8,}={0,2}")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)?")
_INTEGER = re.compile(r"\d+")

_TIME = re.compile(
    r"(?<!\d)(?:(?:[01]\d|2[0-4]):[0-5]\d|\d{1,2}:[0-5]\d:[0-5]\d"
    r"|\d{1,2}(?::[0-5]\d)?\s?[ap]\.?m\b|\d{1,2}\s?[hH時时点시]\s?[0-5]?\d)(?!\d)",
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
_COMPACT = re.compile(r"20\d{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?:[T_\-]?\d{4,9}Z?)?")
_WEEK = re.compile(r"(?:20\d\d[-\s]?)?[WwKk]{1,2}\s?\d{1,2}")
_YEAR = re.compile(r"(?<!\d)(?:19|20|25)\d{2}(?!\d)")
_SECONDS = re.compile(r"\s?(?:s|secs?|seconds?|sekunden|secondes?|segundos?|秒|초)\b", re.I)
_LETTERS = re.compile(r"[^\W\d_]+")

_ID_WORDS = re.compile(
    r"(?:^|[^a-z])(?:id|ids|uuid|guid|ulid|user|session|sess|request|req|trace|span|conversation|"
    r"thread|correlation|tenant|customer|account|token|hash|cch|run|job|sid|uid|rid)[^a-z]*$",
    re.I,
)
_COUNTER_WORDS = re.compile(
    r"(?:^|[^a-z])(?:nonce|salt|seed|rand(?:om)?|count(?:er)?|attempt|retry|turn|step|iteration|seq"
    r"(?:uence)?|tick|remaining|left|budget|number|num|no|nr|page|total|used|call|message|msg)"
    r"[^a-z]*$",
    re.I,
)


def judge(value: Changed, moments: Moments) -> Verdict | None:
    """(cause, candidates) of a changed value; None if it looks like text that was rewritten."""
    shape = _shape(value.before), _shape(value.after)
    if _is_clock(value, moments):
        return CLOCK, ()
    keyed = _keyed(value.left)
    if IDENTIFIER in shape and None not in shape:
        # a word before it can say that the letters and digits are a nonce
        return (COUNTER if keyed == COUNTER else IDENTIFIER), ()
    if shape == ("number", "number"):
        return _number(value, moments, keyed)
    if None in shape:
        return _word(value, keyed)
    return (keyed, ()) if keyed is not None else (None, (IDENTIFIER, COUNTER))


def _shape(text: str) -> str | None:
    """`identifier`, `number`, `short` (a few letters and digits), or None for words."""
    if _NUMBER.fullmatch(text):
        return "number"
    if _UUID.fullmatch(text) or _ULID.fullmatch(text) or _PREFIXED.fullmatch(text):
        return IDENTIFIER
    if not text.isascii():
        return None
    digits, letters = any(c.isdigit() for c in text), any(c.isalpha() for c in text)
    if digits and letters:
        if _HEX.fullmatch(text) or _BASE32.fullmatch(text) or _MIXED.fullmatch(text):
            return IDENTIFIER
        return "short" if len(text) <= 7 else None
    if len(text) >= 16 and _BASE32.fullmatch(text):
        return IDENTIFIER
    if len(text) >= 5 and _HEX.fullmatch(text):
        return IDENTIFIER
    return None


def _keyed(left: str) -> str | None:
    """What the words before a value call it."""
    tail = re.sub(r"[A-Z]+", lambda m: f" {m[0].lower()}", left[-40:])
    if _COUNTER_WORDS.search(tail):
        return COUNTER
    return IDENTIFIER if _ID_WORDS.search(tail) else None


def _number(value: Changed, moments: Moments, keyed: str | None) -> Verdict:
    """Two plain numbers that no clock explains for certain."""
    step = _amount(value.after) - _amount(value.before)
    if keyed == COUNTER:
        return COUNTER, ()
    whole = _INTEGER.fullmatch(value.before) and _INTEGER.fullmatch(value.after)
    if keyed == IDENTIFIER:
        # an id that counts up by one is a counter as well
        return (None, (IDENTIFIER, COUNTER)) if 0 < step < 2 else (IDENTIFIER, ())
    if whole and step == 1 and not 0.4 < moments.elapsed_s < 120:
        return COUNTER, ()
    return _UNDECIDED


def _word(value: Changed, keyed: str | None) -> Verdict | None:
    single = re.fullmatch(r"[\w.@+\-]+", value.after) and re.fullmatch(r"[\w.@+\-]+", value.before)
    names_a_value = re.search(r"[:=]\s*[\"']?$", value.left)
    if single and names_a_value and keyed == IDENTIFIER:
        return IDENTIFIER, ()
    return None


def _is_clock(value: Changed, moments: Moments) -> bool:
    if _moves_with_time(value, moments):
        return True
    around = (
        (value.before, f"{value.left[-_NEAR:]}{value.before}{value.right_before[:_NEAR]}"),
        (value.after, f"{value.left[-_NEAR:]}{value.after}{value.right[:_NEAR]}"),
    )
    at = len(value.left[-_NEAR:])
    return all(_in_a_date(text, window, at) for text, window in around)


def _in_a_date(text: str, window: str, at: int) -> bool:
    """Whether the value, at `at` of its window, is a date or a time or a part of one."""
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


def _moves_with_time(value: Changed, moments: Moments) -> bool:
    """A number that moved as far as the requests are apart, in some unit of time."""
    pairs = [(_decimal(value.before), _decimal(value.after))]
    if _HEX.fullmatch(value.before) and _HEX.fullmatch(value.after):
        pairs.append((_hexadecimal(value.before), _hexadecimal(value.after)))
    in_seconds = bool(_SECONDS.match(value.right))
    for before, after in pairs:
        if before is None or after is None or after <= before:
            continue
        for unit_us in (1e6, 1e3, 1.0, 1e-3):
            step_us = (after - before) * unit_us
            slack_us = max(1.5 * unit_us, 1.5e6, 0.01 * moments.elapsed_us)
            enough = step_us >= _FEW_SECONDS * 1e6 or (unit_us == 1e6 and in_seconds)
            if enough and abs(step_us - moments.elapsed_us) <= slack_us:
                return True
            if _is_now(after * unit_us, moments) and _is_now(before * unit_us, moments):
                return True
    return False


def _is_now(at_us: float, moments: Moments) -> bool:
    """Whether microseconds since 1970 fall within two days of the later request."""
    if moments.later is None:
        return False
    start = datetime(1970, 1, 1, tzinfo=UTC)
    return abs(at_us - (moments.later - start).total_seconds() * 1e6) < 2 * 86_400e6


def _amount(text: str) -> float:
    return float(text.replace(",", "."))


def _decimal(text: str) -> float | None:
    return _amount(text) if _NUMBER.fullmatch(text) else None


def _hexadecimal(text: str) -> float:
    return float(int(text, 16))
