"""Content of a prompt block as hashes: raw, key-sorted, and with its volatile parts masked.

The text itself is only ever seen here; a Request carries hashes and token counts.
"""

from typing import Any, NamedTuple

import msgspec

from cachecast_datasets.hashing import content_hash
from cachecast_datasets.masking import masked, masked_bytes

__all__ = ["ContentHashes", "hashes_of", "masked", "share_out"]


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
        data = value.encode(errors="surrogatepass")
        raw = content_hash(data)
        return ContentHashes(raw, raw, content_hash(masked_bytes(data)))
    kept = msgspec.json.encode(value)
    ordered = msgspec.json.encode(value, order="deterministic")
    return ContentHashes(
        content_hash(kept), content_hash(ordered), content_hash(masked_bytes(ordered))
    )


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
