"""Content hashes and their chains: xxHash64, unsigned 64-bit, never truncated, never `hash()`."""

from functools import lru_cache

import numpy as np
import numpy.typing as npt
import xxhash

# the seed of every chain; a fixed number, so that equal logs give equal hashes on every machine
ROOT = 0xCAC4_ECA5_7000_0001


def content_hash(data: bytes) -> int:
    """The hash of one piece of content alone (not chained), in [0, 2**64)."""
    return xxhash.xxh64_intdigest(data, seed=ROOT)


def chain(parent: int, block_hash: int) -> int:
    """The hash of a prefix: `parent` is everything before, `block_hash` what is appended."""
    return xxhash.xxh64_intdigest(block_hash.to_bytes(8, "little"), seed=parent)


def scoped_ids(scope: str, ids: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Hashes for ids that already name whole prefixes inside `scope` (equal id = equal prefix).

    The scope's hash is added modulo 2**64: two ids of one scope never collide, ids of different
    scopes collide no more often than random hashes, and runs of consecutive ids stay runs, which
    is what lets 61.7 million of them fit into a few megabytes of Parquet.
    """
    return ids + _scope_hash(scope)


@lru_cache(1 << 10)  # a scope has many requests
def _scope_hash(scope: str) -> np.uint64:
    return np.uint64(content_hash(scope.encode()))


def token_block_hashes(
    token_ids: npt.NDArray[np.int32], block_tokens: int
) -> npt.NDArray[np.uint64]:
    """The chained hash of each full block of `token_ids` (the partial last block has none)."""
    whole = len(token_ids) // block_tokens
    data = np.ascontiguousarray(token_ids[: whole * block_tokens], dtype="<i4").tobytes()
    step = 4 * block_tokens
    hashes = np.empty(whole, dtype=np.uint64)
    parent = ROOT
    for number in range(whole):
        parent = xxhash.xxh64_intdigest(data[number * step : (number + 1) * step], seed=parent)
        hashes[number] = parent
    return hashes
