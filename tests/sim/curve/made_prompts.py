"""Prompts for the tests of the curves: by hand, and drawn by hypothesis."""

from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st
from sim.curve.slow_caches import Prompt

from cachecast_datasets.prefix_blocks import PrefixBlocks
from cachecast_sim.curve.block_size import BlockSize
from cachecast_sim.curve.curves import CurveBuilder, Curves

BLOCK = 8
SECOND = 1_000_000


def prompt(at_s: float, *ids: int, tokens: int | None = None) -> Prompt:
    """A request of whole blocks of BLOCK tokens, unless its length is given."""
    return Prompt(round(at_s * SECOND), ids, len(ids) * BLOCK if tokens is None else tokens)


def blocks_of(prompts: Sequence[Prompt]) -> PrefixBlocks:
    """The prompts as the arrays that curves read."""
    return PrefixBlocks(
        np.array([p.at_us for p in prompts], dtype=np.int64),
        np.cumsum([0, *(len(p.ids) for p in prompts)], dtype=np.int64),
        np.array([block for p in prompts for block in p.ids], dtype=np.uint64),
        np.array([-1 if p.tokens is None else p.tokens for p in prompts], dtype=np.int64),
    )


def curves_of(
    prompts: Sequence[Prompt],
    *,
    wanted: int | None = None,
    keeps_partial: bool = True,
    lives_us: Sequence[int] = (),
    sample: float | None = None,
) -> Curves:
    """The curves of prompts in blocks of BLOCK tokens."""
    builder = CurveBuilder(BlockSize(BLOCK, wanted, keeps_partial), lives_us, sample)
    builder.add(blocks_of(prompts))
    return builder.curves()


@st.composite
def chained(draw: st.DrawFn, most: int = 25) -> list[Prompt]:
    """Prompts that follow the branches of a small tree, so that an id names a whole prefix.

    An id is its path in the tree as a number. The last block may be partial; then it is another id
    for each length.
    """
    prompts, at_us = [], 0
    for _ in range(draw(st.integers(1, most))):
        at_us += draw(st.sampled_from([0, 1, 5, 10, 60]))
        path = 1
        ids = []
        for turn in draw(st.lists(st.integers(0, 1), max_size=8)):
            path = path * 8 + turn
            ids.append(path)
        part = draw(st.integers(0, BLOCK - 1))
        if part:
            ids.append(path * 8 + 7 + 10**12 * part)
        whole = len(ids) - 1 if part else len(ids)
        prompts.append(Prompt(at_us, tuple(ids), whole * BLOCK + part))
    return prompts


@st.composite
def unchained(draw: st.DrawFn, most: int = 25) -> list[Prompt]:
    """Prompts of any ids in any order, some of them twice: what no log should hold."""
    prompts, at_us = [], 0
    for _ in range(draw(st.integers(1, most))):
        at_us += draw(st.sampled_from([0, 1, 5, 10, 60]))
        ids = draw(st.lists(st.integers(0, 9), max_size=8))
        short = draw(st.integers(0, BLOCK - 1)) if ids else 0
        prompts.append(Prompt(at_us, tuple(ids), len(ids) * BLOCK - short))
    return prompts


def any_prompts() -> st.SearchStrategy[list[Prompt]]:
    """Both kinds."""
    return st.one_of(chained(), unchained())
