"""Texts with their volatile parts (dates, times, ids, numbers) masked, fast enough for gigabytes.

Every mask needs a digit, so only the words with one are looked at, and most of those were seen
before: 20 times faster than ten patterns over the whole text (benchmarks/transcripts.py).
"""

import re
from collections.abc import Iterator
from functools import lru_cache

import numpy as np
import numpy.typing as npt

# No mask reaches over one of these, but for months and times; nor over a letter beyond ASCII.
_BREAKS = b" \t\n\r\f\v\"'`,;{}[]()<>=|\\" + bytes(range(128, 256))
_CLASS = np.zeros(256, dtype=np.uint8)
_CLASS[list(_BREAKS)] = 1
_CLASS[list(b"0123456789")] = 2
_REMEMBERED = 48  # longer words are rarely seen twice

_MONTHS = b"january|february|march|april|may|june|july|august|september|october|november|december"
_CENTURIES = (b"19", b"20")
_FOUR = np.arange(4)
_DATE_BYTES = 40  # what a written date may have before its year
_WRITTEN_DATE = re.compile(
    rb"\b(?:mon|tues|wednes|thurs|fri|satur|sun)day,?\s+"
    rb"(?:(?:" + _MONTHS + rb")\s+\d{1,2}|\d{1,2}\s+[a-z]+),?\s*\d{4}"
    rb"|\b(?:" + _MONTHS + rb")\s+\d{1,2},?\s+\d{4}",
    re.IGNORECASE,
)
_CLOCK = rb"\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?"
_ZONE = rb"(?:Z|[+-]\d{2}:?\d{2})?"
_UUID = re.compile(rb"\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b", re.IGNORECASE)
_MOMENT = re.compile(rb"\b\d{4}-\d{2}-\d{2}T" + _CLOCK + _ZONE)
_YEAR_FIRST = re.compile(rb"\b\d{4}[-/]\d{1,2}[-/]\d{1,2}\b")
_YEAR_LAST = re.compile(rb"\b\d{1,2}[-/.]\d{1,2}[-/.]\d{4}\b")
_TIME = re.compile(rb"\b" + _CLOCK + _ZONE + rb"(?:[ap]m)?\b", re.IGNORECASE)
_HEX = re.compile(rb"\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{5,}\b", re.IGNORECASE)
_ID = re.compile(rb"\b(?=\w*\d)[a-z]+[_-][a-z0-9]{8,}\b", re.IGNORECASE)
_NUMBER = re.compile(rb"\d+(?:\.\d+)?")
_NOON = re.compile(rb"<time> [ap]m\b", re.IGNORECASE)


def masked(text: str) -> str:
    """`text` with dates, times, UUIDs, hex strings, ids and numbers replaced by what they are."""
    return masked_bytes(text.encode(errors="surrogatepass")).decode(errors="surrogatepass")


def masked_bytes(data: bytes) -> bytes:
    """The same for UTF-8."""
    kinds = _CLASS[np.frombuffer(data, dtype=np.uint8)]
    starts, ends = _words_with_digits(kinds)
    if not len(starts):
        return data
    dates = list(_written_dates(data, kinds, starts))
    if dates:
        data = _replaced(data, dates)
        starts, ends = _words_with_digits(_CLASS[np.frombuffer(data, dtype=np.uint8)])
    pieces: list[bytes] = []
    at = 0
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        word = data[start:end]
        masked_word = _remembered(word) if end - start <= _REMEMBERED else _masked_word(word)
        pieces += (data[at:start], masked_word)
        at = end
    pieces.append(data[at:])
    made = b"".join(pieces)
    if b"<time>" in made:
        made = made.replace(b"<date> <time>", b"<time>")
        if b"<time> " in made:
            made = _NOON.sub(b"<time>", made)
    return made


_Numbers = npt.NDArray[np.int64]


def _words_with_digits(kinds: npt.NDArray[np.uint8]) -> tuple[_Numbers, _Numbers]:
    """Where the words that hold a digit start and end."""
    digits = np.flatnonzero(kinds == 2)
    if not len(digits):
        return digits, digits
    breaks = np.flatnonzero(kinds == 1)
    words = np.searchsorted(breaks, digits)
    words = words[np.concatenate(([True], words[1:] != words[:-1]))]
    edges = np.concatenate(([-1], breaks, [len(kinds)]))
    return edges[words] + 1, edges[words + 1]


def _written_dates(
    data: bytes, kinds: npt.NDArray[np.uint8], starts: _Numbers
) -> Iterator[tuple[int, int]]:
    """Where dates with a month's name stand: a word starts like a year, the month is before it."""
    years = starts[starts + 4 <= len(kinds)]
    years = years[(kinds[years[:, None] + _FOUR] == 2).all(axis=1)]
    done = 0
    for start in years.tolist():
        if data[start : start + 2] not in _CENTURIES:
            continue  # mostly line numbers
        first = max(done, start - _DATE_BYTES)
        match = _WRITTEN_DATE.search(data, first, start + 4)
        if match:
            done = match.end()
            yield match.start(), done


def _replaced(data: bytes, spans: list[tuple[int, int]]) -> bytes:
    pieces: list[bytes] = []
    at = 0
    for start, end in spans:
        pieces += (data[at:start], b"<date>")
        at = end
    return b"".join((*pieces, data[at:]))


def _masked_word(word: bytes) -> bytes:
    """A longer form is masked before its parts are; what cannot be in the word is not tried."""
    if word.isdigit():
        return b"<n>"
    length, dash = len(word), b"-" in word
    if length >= 8 and (dash or b"/" in word or b"." in word):
        if dash:
            word = _MOMENT.sub(b"<time>", _UUID.sub(b"<uuid>", word))
        word = _YEAR_LAST.sub(b"<date>", _YEAR_FIRST.sub(b"<date>", word))
    if b":" in word:
        word = _TIME.sub(b"<time>", word)
    if length >= 5:
        word = _HEX.sub(b"<hex>", word)
        if length >= 10 and (dash or b"_" in word):
            word = _ID.sub(b"<id>", word)
    return _NUMBER.sub(b"<n>", word)


_remembered = lru_cache(1 << 16)(_masked_word)
