"""Content hashes and their chains: xxHash64, unsigned 64-bit, never truncated, never `hash()`."""

import xxhash

# the seed of every chain; a fixed number, so that equal logs give equal hashes on every machine
ROOT = 0xCAC4_ECA5_7000_0001


def content_hash(data: bytes) -> int:
    """The hash of one piece of content alone (not chained), in [0, 2**64)."""
    return xxhash.xxh64_intdigest(data, seed=ROOT)


def chain(parent: int, block_hash: int) -> int:
    """The hash of a prefix: `parent` is everything before, `block_hash` what is appended."""
    return xxhash.xxh64_intdigest(block_hash.to_bytes(8, "little"), seed=parent)
