"""Content of a prompt block as hashes: raw, key-sorted, and with its volatile parts masked.

The text itself is only ever seen here; a Request carries hashes and token counts.
"""

import re
from typing import Any, NamedTuple

import msgspec

from cachecast_datasets.hashing import content_hash

# In this order: a longer form must be masked before its parts are.
_MASKS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), mask)
    for pattern, mask in (
        (r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", "<uuid>"),
        (r"\b\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?", "<time>"),
        (r"\b\d{4}[-/]\d{1,2}[-/]\d{1,2}\b", "<date>"),
        (r"\b\d{1,2}[-/.]\d{1,2}[-/.]\d{4}\b", "<date>"),
        (
            r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)day,?\s+"
            r"(?:(?:january|february|march|april|may|june|july|august|september|october|november"
            r"|december)\s+\d{1,2}|\d{1,2}\s+[a-z]+),?\s*\d{4}",
            "<date>",
        ),
        (
            r"\b(?:january|february|march|april|may|june|july|august|september|october|november"
            r"|december)\s+\d{1,2},?\s+\d{4}",
            "<date>",
        ),
        (r"\b\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?(\s?[ap]m)?\b", "<time>"),
        (r"\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{5,}\b", "<hex>"),
        (r"\b(?=\w*\d)(?=\w*[a-z])(?:[a-z]+[_-])[a-z0-9]{8,}\b", "<id>"),
        (r"\d+(?:\.\d+)?", "<n>"),
    )
)


class ContentHashes(NamedTuple):
    """Hashes of one block: as it is, key-sorted, and masked."""

    raw: int
    canonical: int
    masked: int


def hashes_of(value: Any) -> ContentHashes:
    """The hashes of a block's content: a string, or the JSON value that stands for it.

    `canonical` differs from `raw` only for JSON objects, whose keys it sorts; `masked` replaces
    dates, times, ids and numbers, so that equal masks with unequal content mean a volatile value.
    """
    if isinstance(value, str):
        raw = content_hash(value.encode(errors="surrogatepass"))
        return ContentHashes(raw, raw, _masked_hash(value))
    kept = msgspec.json.encode(value)
    ordered = msgspec.json.encode(value, order="deterministic")
    return ContentHashes(content_hash(kept), content_hash(ordered), _masked_hash(ordered.decode()))


def masked(text: str) -> str:
    """`text` with dates, times, UUIDs, hex strings, ids and numbers replaced by what they are."""
    for pattern, mask in _MASKS:
        text = pattern.sub(mask, text)
    return text


def _masked_hash(text: str) -> int:
    return content_hash(masked(text).encode(errors="surrogatepass"))


def share_out(total: int, weights: list[int]) -> list[int]:
    """`total` tokens split by `weights`, whole and exact: the largest remainders get the rest.

    For sources that report only a prompt's size; zero weights all round share it evenly.
    """
    if not weights:
        return []
    whole = sum(weights)
    if whole == 0:
        weights, whole = [1] * len(weights), len(weights)
    parts = [total * weight // whole for weight in weights]
    rest = total - sum(parts)
    by_remainder = sorted(range(len(weights)), key=lambda i: (-(total * weights[i] % whole), i))
    for i in by_remainder[:rest]:
        parts[i] += 1
    return parts
