"""Kernels in machine code, where they cannot be kept as well."""

from typing import Any

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachecast_sim.curve.jit import compiled
from cachecast_sim.curve.numbering import BlockNumbers


def test_a_kernel_works_where_no_folder_can_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """numba refuses to keep anything there with a RuntimeError when the module is loaded."""
    real = numba.njit

    def without_cache(*arguments: Any, **options: Any) -> Any:
        if options.get("cache"):
            raise RuntimeError("cannot cache function: no locator available")
        return real(*arguments, **options)

    monkeypatch.setattr(numba, "njit", without_cache)

    def doubled(number: int) -> int:
        return 2 * number

    assert compiled(doubled)(21) == 42


@given(st.lists(st.lists(st.integers(0, 2**64 - 1), max_size=30), max_size=5))
def test_ids_are_numbered_in_the_order_in_which_they_are_first_seen(ids: list[list[int]]) -> None:
    """Against a dict; in pieces, up to the largest 64-bit id."""
    numbers: dict[int, int] = {}
    expected = [[numbers.setdefault(i, len(numbers)) for i in piece] for piece in ids]

    blocks = BlockNumbers()
    found = [blocks.of(np.array(piece, dtype=np.uint64)).tolist() for piece in ids]
    assert found == expected
    assert blocks.count == len(numbers)


def test_a_table_that_grows_keeps_its_numbers() -> None:
    """Random ids, runs of neighbours and ids that differ in their upper half only."""
    ids = np.concatenate(
        [
            np.random.default_rng(1).integers(0, 2**64 - 1, 100_000, dtype=np.uint64),
            np.arange(100_000, dtype=np.uint64),
            np.arange(50_000, dtype=np.uint64) << np.uint64(40),
        ]
    )
    blocks = BlockNumbers()
    first = blocks.of(ids)

    assert blocks.count == len(set(ids.tolist()))
    assert (blocks.of(ids) == first).all()
