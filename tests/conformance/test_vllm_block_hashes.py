"""vLLM's own block hashes (../shared/golden), and that our ids tell the same blocks apart."""

import hashlib
import json
import pickle
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cachecast_datasets.hashing import token_block_hashes

BLOCK = 16
NO_SEED = "vllm-none-hash"


def vllm_hash(value: object) -> bytes:
    """Row 2: SHA-256 over the pickle."""
    return hashlib.sha256(pickle.dumps(value, pickle.HIGHEST_PROTOCOL)).digest()


def vllm_block_hashes(tokens: list[int], seed: str, first_keys: object = None) -> list[bytes]:
    """Rows 1, 3 and 4: each full block with its parent's hash; a salt only in the first."""
    hashes, parent, keys = [], vllm_hash(seed), first_keys
    for start in range(0, len(tokens) - BLOCK + 1, BLOCK):
        parent = vllm_hash((parent, tuple(tokens[start : start + BLOCK]), keys))
        hashes.append(parent)
        keys = None
    return hashes


def test_the_function_here_gives_vllm_s_own_sha256_values(shared: Path) -> None:
    golden = json.loads((shared / "golden" / "vllm_block_hashes.json").read_text())
    none_hashes = golden["none_hash"]
    found: dict[str, list[str]] = {}
    for row in golden["blocks"]:
        if row["algo"] == "sha256":
            found.setdefault(row["PYTHONHASHSEED"] or NO_SEED, []).append(row["hash"])
    assert len(found) == 3
    for seed, expected in found.items():
        name = "None" if seed == NO_SEED else seed
        assert vllm_hash(seed).hex() == none_hashes[f"sha256/PYTHONHASHSEED={name}"]
        salt = (("cache_salt", "tenant-a"),) if seed == "42" else None
        hashes = vllm_block_hashes(list(range(48)), seed, salt)
        assert [value.hex() for value in hashes] == expected


def test_a_salt_in_the_first_block_isolates_the_whole_prompt() -> None:
    """BR-103: the later blocks differ too, since they are chained to it."""
    plain = vllm_block_hashes(list(range(64)), NO_SEED)
    salted = vllm_block_hashes(list(range(64)), NO_SEED, (("cache_salt", "tenant-a"),))
    assert len(plain) == len(salted) == 4
    assert set(plain).isdisjoint(salted)


PIECES = st.sampled_from([[0] * BLOCK, [1] * BLOCK, [0] * (BLOCK - 1) + [1], [0] * 5])


@given(st.lists(st.lists(PIECES, max_size=5), min_size=2, max_size=5))
def test_our_ids_are_equal_exactly_where_vllm_s_hashes_are(prompts: list[list[list[int]]]) -> None:
    """Known fault 6: the same tokens after different prefixes are different blocks."""
    ours, theirs = [], []
    for pieces in prompts:
        tokens = [token for piece in pieces for token in piece]
        ours += token_block_hashes(np.array(tokens, np.int32), BLOCK).tolist()
        theirs += vllm_block_hashes(tokens, NO_SEED)
    assert len(ours) == len(theirs)
    assert len(set(zip(ours, theirs, strict=True))) == len(set(ours)) == len(set(theirs))
