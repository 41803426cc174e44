"""Curves in another block size than the log's, against prompts that were written in that size."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sim.curve.made_prompts import BLOCK, blocks_of, chained, curves_of, prompt
from sim.curve.slow_caches import Prompt

from cachecast_datasets.errors import BadInput
from cachecast_sim.curve.block_size import BlockSize, portions
from cachecast_sim.curve.curves import CurveBuilder, Curves

A, B, C, D, E = 1, 2, 3, 4, 5


def same(one: Curves, other: Curves) -> bool:
    """Equal at every capacity and lifetime."""
    assert (one.total_blocks, one.unique_blocks) == (other.total_blocks, other.unique_blocks)
    return all(
        one.at_capacity(capacity) == other.at_capacity(capacity)
        for capacity in range(one.unique_blocks + 1)
    ) and all(one.at_ttl(life) == other.at_ttl(life) for life in range(100))


def in_blocks_of(prompts: list[Prompt], tokens: int) -> Curves:
    """The curves of prompts that are in this size already."""
    builder = CurveBuilder(BlockSize(tokens, None, True))
    builder.add(blocks_of(prompts))
    return builder.curves()


def test_a_multiple_names_each_merged_block_by_its_last_one() -> None:
    """A B | C D | E(3 tokens) in blocks of 16; another prompt leaves after C."""
    prompts = [prompt(0, A, B, C, D, E, tokens=35), prompt(1, A, B, C, tokens=24)]
    merged = [prompt(0, B, D, E, tokens=35), prompt(1, B, C, tokens=24)]

    assert same(curves_of(prompts, wanted=16), in_blocks_of(merged, 16))


def test_a_log_that_drops_partial_blocks_drops_partial_merged_ones() -> None:
    """A B | C: the half block C goes."""
    curves = curves_of([prompt(0, A, B, C), prompt(1, A, B, C)], wanted=16, keeps_partial=False)

    assert (curves.total_blocks, curves.unique_blocks) == (2, 1)
    assert curves.ideal.tokens == 16 / 48


def test_a_divisor_splits_a_block_into_parts_that_are_evicted_one_by_one() -> None:
    """A B in parts of 4 tokens: A1 A2 B1 B2; of 3 parts the tail is gone."""
    curves = curves_of([prompt(0, A, B), prompt(1, A, B)], wanted=4)

    assert (curves.total_blocks, curves.unique_blocks) == (8, 4)
    found = [curves.at_capacity(capacity).blocks for capacity in (3, 4)]
    assert found == [3 / 8, 4 / 8]


def test_of_a_partial_block_only_the_parts_that_hold_tokens_are_there() -> None:
    """13 tokens in parts of 4: A1 A2 B1 B2, where B2 holds one token."""
    curves = curves_of([prompt(0, A, B, tokens=13), prompt(1, A, B, tokens=13)], wanted=4)

    assert curves.total_blocks == 8
    assert [curves.at_capacity(c).tokens for c in (3, 4)] == [12 / 26, 13 / 26]


@given(chained(), st.sampled_from([1, 2, 4]))
def test_parts_equal_a_log_written_in_parts(prompts: list[Prompt], tokens: int) -> None:
    parts = BLOCK // tokens
    split = []
    for p in prompts:
        assert p.tokens is not None
        ids = [block * 8 + part for block in p.ids for part in range(parts)]
        split.append(p._replace(ids=tuple(ids[: -(-p.tokens // tokens)])))

    assert same(curves_of(prompts, wanted=tokens), in_blocks_of(split, tokens))


@given(chained(), st.sampled_from([2, 3, 5]))
def test_merged_blocks_equal_a_log_written_in_them(prompts: list[Prompt], factor: int) -> None:
    merged = []
    for p in prompts:
        groups = [p.ids[at : at + factor] for at in range(0, len(p.ids), factor)]
        merged.append(p._replace(ids=tuple(group[-1] for group in groups)))

    wanted = factor * BLOCK
    assert same(curves_of(prompts, wanted=wanted), in_blocks_of(merged, wanted))


@pytest.mark.parametrize("wanted", [3, 5, 6, 12, 20])
def test_a_size_that_does_not_fit_is_refused_with_both_numbers(wanted: int) -> None:
    with pytest.raises(BadInput, match=f"is {wanted}, but the log's blocks hold 8 tokens"):
        BlockSize(8, wanted, True)


@given(chained(), st.integers(1, 9))
def test_portions_are_the_requests_in_order_and_as_large_as_allowed(
    prompts: list[Prompt], most: int
) -> None:
    found = list(portions(blocks_of(prompts), most))

    again = [
        (int(part.arrival_us[r]), tuple(part.ids[part.offsets[r] : part.offsets[r + 1]].tolist()))
        for part in found
        for r in range(len(part.arrival_us))
    ]
    assert again == [(p.at_us, p.ids) for p in prompts]
    assert all(len(part.ids) <= most or len(part.arrival_us) == 1 for part in found)
