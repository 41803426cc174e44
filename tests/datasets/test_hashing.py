import numpy as np
import xxhash

from cachecast_datasets.hashing import (
    ROOT,
    chain,
    content_hash,
    scoped_ids,
    token_block_hashes,
)


def test_the_same_block_after_different_prefixes_has_different_hashes() -> None:
    block = content_hash(b"same")
    assert chain(chain(ROOT, content_hash(b"a")), block) != chain(
        chain(ROOT, content_hash(b"b")), block
    )


def test_a_chain_is_seeded_xxhash_over_eight_little_endian_bytes() -> None:
    assert chain(7, 1) == xxhash.xxh64_intdigest(b"\x01" + b"\x00" * 7, seed=7)


def test_ids_of_one_scope_never_collide_and_keep_all_64_bits() -> None:
    ids = np.array([0, 1, 2**32, 2**64 - 1], dtype=np.uint64)
    assert len(set(scoped_ids("s", ids).tolist())) == 4


def test_consecutive_ids_stay_consecutive_even_over_the_end_of_64_bits() -> None:
    start = 2**64 - content_hash(b"s") - 2  # the third of these wraps around to 0 or 1
    hashes = scoped_ids("s", np.arange(start, start + 4, dtype=np.uint64))
    assert set((hashes[1:] - hashes[:-1]).tolist()) == {1}


def test_the_same_id_in_two_scopes_has_two_hashes() -> None:
    ids = np.array([5], dtype=np.uint64)
    assert scoped_ids("a", ids)[0] != scoped_ids("b", ids)[0]


def test_token_blocks_are_chained_and_the_partial_last_block_has_no_hash() -> None:
    tokens = np.arange(48, dtype=np.int32) % 16  # three equal blocks of 16
    whole = token_block_hashes(tokens, 16)
    assert len(set(whole.tolist())) == 3
    assert token_block_hashes(tokens[:47], 16).tolist() == whole[:2].tolist()
    assert token_block_hashes(tokens[:15], 16).tolist() == []
