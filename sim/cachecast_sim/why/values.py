"""What a value that changed between two prompts is: a clock, an id, a counter, or undecided.

A value is judged by its shape, by the words before it, and by time: a clock moves as far as the
requests are apart. What these do not decide is a list of candidates, and what is no value is None.
"""

import re
from collections.abc import Iterator
from datetime import UTC, datetime

from cachecast_sim.why.causes import VOLATILE
from cachecast_sim.why.dates import Changed, Moments, agrees_with_time, in_a_date

CLOCK, IDENTIFIER, COUNTER = VOLATILE
_FEW_SECONDS = 20  # below this a clock and a counter move alike


Verdict = tuple[str | None, tuple[str, ...]]  # (certain cause, candidates)
REWRITTEN = "rewritten"  # stands for the cause of a text that somebody changed
_UNDECIDED: Verdict = (None, (*VOLATILE, REWRITTEN))
_A_DATE: Verdict = (None, (CLOCK, REWRITTEN))

_UUID = re.compile(r"[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}", re.I)
_ULID = re.compile(r"[0-7][0-9A-HJKMNP-TV-Z]{25}", re.I)
_HEX = re.compile(r"(?:0x)?[0-9a-f]{4,}", re.I)
_BASE32 = re.compile(r"[A-Z2-7]{16,}=*")
_SEPARATORS = re.compile(r"[_\-:#/.]")
_LONG, _SWITCHES = 20, 6
_SWITCH = re.compile(r"(?<=d)[ul]|(?<=u)[dl]|(?<=l)[du]")
_S = 1e6  # microseconds
_MS_DIGITS, _US_DIGITS, _HEX_DIGITS = 10, 13, 8
_NUMBER = re.compile(r"\d+(?:[.,]\d+)?")
_INTEGER = re.compile(r"\d+")
_SECONDS_WORD = re.compile(r"\s?(?:s|secs?|seconds?|sekunden|secondes?|segundos?|秒|초)\b", re.I)
_ID_WORDS = re.compile(
    r"(?:^|[^a-z])(?:id|ids|uuid|guid|ulid|user|session|sess|request|req|trace|span|conversation|"
    r"thread|correlation|tenant|customer|account|token|hash|cch|run|job|sid|uid|rid)[^a-z]*$",
    re.I,
)
_COUNTER_WORDS = re.compile(
    r"(?:^|[^a-z])(?:nonce|salt|seed|rand(?:om)?|count(?:er)?|attempt|retry|turn|step|iteration|seq"
    r"(?:uence)?|tick|remaining|left|budget|number|num|no|nr|used|message|msg)"
    r"[^a-z]*$",
    re.I,
)


def judge(value: Changed, moments: Moments) -> Verdict | None:
    """(cause, candidates) of a changed value; None if it looks like text that was rewritten."""
    if _moves_with_time(value, moments):
        return CLOCK, ()
    dated = in_a_date(value)
    if dated:
        return (CLOCK, ()) if agrees_with_time(value, moments) else _A_DATE
    keyed = _keyed(value.left)
    if _NUMBER.fullmatch(value.before) and _NUMBER.fullmatch(value.after):
        return _number(value, moments, keyed)
    shape = _random(value.before, value.after)
    if shape == IDENTIFIER:
        # a word before it can say that the letters and digits are a nonce
        return (COUNTER if keyed == COUNTER else IDENTIFIER), ()
    if shape is None:
        return _word(value, keyed)
    return (keyed, ()) if keyed is not None else (None, (IDENTIFIER, COUNTER, REWRITTEN))


def _random(before: str, after: str) -> str | None:
    """`identifier` for what nobody writes by hand, `short` for what somebody might, else None."""
    if not (before + after).isascii():
        return None
    if all(_UUID.fullmatch(text) or _ULID.fullmatch(text) for text in (before, after)):
        return IDENTIFIER
    if all(_long_and_mixed(text) for text in (before, after)):
        return IDENTIFIER
    parts_a, parts_b = _SEPARATORS.split(before), _SEPARATORS.split(after)
    if len(parts_a) != len(parts_b):
        return IDENTIFIER if _letters_and_digits(before) and _letters_and_digits(after) else None
    changed = [(a, b) for a, b in zip(parts_a, parts_b, strict=True) if a != b]
    if any(_letters_and_digits(a) and _letters_and_digits(b) for a, b in changed):
        return IDENTIFIER
    if any(_hexadecimal_pair(a, b) for a, b in changed):
        return IDENTIFIER
    known = all(any(c.isdigit() for c in part) for pair in changed for part in pair)
    return "short" if known else None


def _long_and_mixed(text: str) -> bool:
    """Twenty characters or more, no blank, back and forth between kinds, as base64 is."""
    kinds = "".join("d" if c.isdigit() else "u" if c.isupper() else "l" for c in text)
    return len(text) >= _LONG and " " not in text and len(_SWITCH.findall(kinds)) >= _SWITCHES


def _letters_and_digits(text: str) -> bool:
    """At least five characters, of both kinds, mixed; or long and all capitals and digits."""
    if _BASE32.fullmatch(text):
        return True
    digits, letters = sum(c.isdigit() for c in text), sum(c.isalpha() for c in text)
    switches = len(re.findall(r"\d+|[^\W\d]+", text))
    return len(text) >= 5 and digits > 0 and letters > 0 and (switches > 2 or _odd(text))


def _odd(text: str) -> bool:
    """A word and digits behind it are odd only where the word is none: hex, or in mixed case."""
    word = re.sub(r"\d", "", text)
    mixed = word != word.lower() and word != word.upper() and not word.istitle()
    return bool(_HEX.fullmatch(text)) or mixed


def _hexadecimal_pair(a: str, b: str) -> bool:
    """Hex digits of the same length, at least five, with a digit in one of the two."""
    same = len(a) == len(b) >= 5 and bool(_HEX.fullmatch(a) and _HEX.fullmatch(b))
    return same and any(c.isdigit() for c in a + b) and not (a + b).isdigit()


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
    elapsed_s = moments.elapsed_s
    if whole and step == 1 and elapsed_s is not None and not 0.4 < elapsed_s < 120:
        return COUNTER, ()
    return _UNDECIDED


def _word(value: Changed, keyed: str | None) -> Verdict | None:
    single = re.fullmatch(r"[\w.@+\-]+", value.after) and re.fullmatch(r"[\w.@+\-]+", value.before)
    names_a_value = re.search(r"[:=]\s*[\"']?$", value.left)
    if single and names_a_value and keyed == IDENTIFIER:
        return IDENTIFIER, ()
    return None


def _moves_with_time(value: Changed, moments: Moments) -> bool:
    """A number that moved as far as the requests are apart, in some unit of time.

    A fine unit needs a long number: a short random one would agree with it too often.
    """
    elapsed_us = moments.elapsed_us
    in_seconds = bool(_SECONDS_WORD.match(value.right))
    for before, after, units in _numbers(value):
        if elapsed_us is None or after <= before:
            continue
        for unit_us in units:
            step_us = (after - before) * unit_us
            if _is_now(after * unit_us, moments) and _is_now(before * unit_us, moments):
                return True
            slack_us = max(1.5 * unit_us, 1.5e6, 0.01 * elapsed_us)
            enough = step_us >= _FEW_SECONDS * 1e6 or (unit_us == _S and in_seconds)
            if enough and abs(step_us - elapsed_us) <= slack_us:
                return True
    return False


def _numbers(value: Changed) -> Iterator[tuple[float, float, tuple[float, ...]]]:
    """(before, after, units of time in microseconds) of the ways to read two numbers."""
    before, after = value.before, value.after
    if _NUMBER.fullmatch(before) and _NUMBER.fullmatch(after):
        units = [_S]
        if len(after) >= _MS_DIGITS:
            units.append(1e3)
        if len(after) >= _US_DIGITS:
            units += [1.0, 1e-3]
        yield _amount(before), _amount(after), tuple(units)
    if len(after) >= _HEX_DIGITS and _HEX.fullmatch(before) and _HEX.fullmatch(after):
        yield float(int(before, 16)), float(int(after, 16)), (_S, 1e3)


def _is_now(at_us: float, moments: Moments) -> bool:
    """Whether microseconds since 1970 fall within two days of the later request."""
    if moments.later is None:
        return False
    start = datetime(1970, 1, 1, tzinfo=UTC)
    return abs(at_us - (moments.later - start).total_seconds() * 1e6) < 2 * 86_400e6


def _amount(text: str) -> float:
    return float(text.replace(",", "."))
