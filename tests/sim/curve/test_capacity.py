"""Hit ratio at every capacity, against the list that the definition describes."""

import random
from fractions import Fraction

import pytest
from hypothesis import given
from sim.curve.made_prompts import BLOCK, any_prompts, blocks_of, chained, curves_of, prompt
from sim.curve.slow_caches import Prompt, lru_hits

from cachecast_datasets.errors import BadInput
from cachecast_sim.curve import world
from cachecast_sim.curve.block_size import BlockSize
from cachecast_sim.curve.curves import CurveBuilder, Curves
from cachecast_sim.curve.points import chart_capacities, table_capacities

A, B, C, D = 1, 2, 3, 4


def hits(curves: Curves, capacity: int) -> tuple[int, int]:
    """(blocks, tokens) that an LRU of this capacity hits."""
    found = curves.at_capacity(capacity)
    assert curves.prompt_tokens is not None
    blocks, tokens = found.blocks or 0.0, found.tokens or 0.0
    return round(blocks * curves.total_blocks), round(tokens * curves.prompt_tokens)


def test_a_prompt_that_comes_again_hits_as_many_blocks_as_there_is_room_for() -> None:
    """After the first request A is the most recent and C the least: 2 blocks keep A and B."""
    curves = curves_of([prompt(0, A, B, C), prompt(1, A, B, C)])

    assert [hits(curves, capacity)[0] for capacity in range(5)] == [0, 1, 2, 3, 3]
    assert (curves.unique_blocks, curves.total_blocks) == (3, 6)


def test_the_head_becomes_the_most_recent_although_it_is_read_first() -> None:
    """A then B C D: of 3 blocks none is A's. With A in front it is there from 3 blocks on."""
    alone = curves_of([prompt(0, A), prompt(1, B, C, D), prompt(2, A)])
    in_front = curves_of([prompt(0, A, B), prompt(1, A, C, D), prompt(2, A, B)])

    assert [hits(alone, capacity)[0] for capacity in (3, 4)] == [0, 1]
    # at the end the list is A C D B: the third request finds A alone up to 3 blocks
    assert [hits(in_front, capacity)[0] for capacity in (1, 3, 4)] == [2, 2, 3]


def test_a_request_is_looked_at_before_its_own_touches() -> None:
    assert hits(curves_of([prompt(0, A, B)]), 10) == (0, 0)


def test_blocks_behind_the_first_miss_are_refreshed_too() -> None:
    """B is touched at 2 s behind a miss, so 3 blocks hold A B at 3 s and C is gone."""
    prompts = [prompt(0, A, B), prompt(1, C), prompt(2, D, B), prompt(3, D, B)]

    assert hits(curves_of(prompts), 2) == (2, 2 * BLOCK)


def test_a_partial_last_block_counts_as_a_block_and_as_its_tokens() -> None:
    """10 tokens in blocks of 8: two blocks, of which the second holds 2."""
    curves = curves_of([prompt(0, A, B, tokens=10), prompt(1, A, B, tokens=10)])

    assert [hits(curves, capacity) for capacity in (0, 1, 2)] == [(0, 0), (1, 8), (2, 10)]
    assert curves.ideal.blocks == 2 / 4
    assert curves.ideal.tokens == 10 / 20  # the last token is no exception


def test_a_prompt_without_a_whole_block_counts_in_tokens_only() -> None:
    """A log that drops partial blocks has none for 5 tokens, but they are part of the prompt."""
    curves = curves_of([prompt(0, A), prompt(1, A), prompt(2, tokens=5)], keeps_partial=False)

    assert curves.ideal.tokens == 8 / 21


def test_an_unknown_prompt_length_leaves_token_ratios_open() -> None:
    curves = curves_of([prompt(0, A), Prompt(1, (A,), None)])

    assert curves.ideal.blocks == 1 / 2
    assert curves.ideal.tokens is None


def test_more_distinct_blocks_than_memory_can_hold_are_refused_with_the_way_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The last block that fits, and one more; parts of a block count."""
    monkeypatch.setattr(world, "MOST_BLOCKS", 4)

    assert curves_of([prompt(0, A, B, C, D), prompt(1, A)]).unique_blocks == 4
    assert curves_of([prompt(0, A, B)], wanted=BLOCK // 2).unique_blocks == 4
    for ids, wanted in (((A, B, C, D, 5), BLOCK), ((A, B, C), BLOCK // 2)):
        with pytest.raises(BadInput, match=r"more than 4 distinct blocks .* --sample 0\.1"):
            curves_of([prompt(0, *ids)], wanted=wanted)


def test_without_requests_there_is_nothing_to_divide_by() -> None:
    curves = curves_of([])

    assert (curves.ideal.blocks, curves.ideal.tokens) == (None, None)
    assert curves.capacity_for(Fraction(9, 10)) is None
    assert table_capacities(curves) == []


@given(any_prompts())
def test_every_capacity_equals_the_slow_list(prompts: list[Prompt]) -> None:
    """Chained ids and any others, repeated ones included."""
    curves = curves_of(prompts)
    distinct = len({block for p in prompts for block in p.ids})

    assert curves.unique_blocks == distinct
    for capacity in range(distinct + 2):
        assert hits(curves, capacity) == lru_hits(prompts, capacity, BLOCK), capacity


@given(any_prompts(), any_prompts())
def test_it_does_not_matter_in_how_many_pieces_a_log_comes(
    first: list[Prompt], second: list[Prompt]
) -> None:
    later = [p._replace(at_us=p.at_us + first[-1].at_us) for p in second]
    builder = CurveBuilder(BlockSize(BLOCK, None, True))
    builder.add(blocks_of(first))
    builder.add(blocks_of(later))

    whole, pieces = curves_of([*first, *later]), builder.curves()
    for capacity in range(whole.unique_blocks + 1):
        assert pieces.at_capacity(capacity) == whole.at_capacity(capacity)


def test_the_lists_grow_and_close_up_over_a_long_log() -> None:
    """40,000 touches of 9,000 blocks, a request at a time: every array grows, slots run out."""
    draw = random.Random(4)
    chains = [range(1_000 * k, 1_000 * k + 300) for k in range(30)]
    prompts = [
        prompt(at, *draw.choice(chains)[: draw.randint(1, 300)]) for at in range(300)
    ]  # about 150 blocks each
    builder = CurveBuilder(BlockSize(BLOCK, None, True))
    for one in prompts:
        builder.add(blocks_of([one]))
    curves = builder.curves()

    assert curves.total_blocks > 40_000
    for capacity in (1, 1_000, 5_000):
        assert hits(curves, capacity) == lru_hits(prompts, capacity, BLOCK), capacity


@given(chained())
def test_more_capacity_never_hits_less(prompts: list[Prompt]) -> None:
    curves = curves_of(prompts)
    found = [hits(curves, capacity) for capacity in range(curves.unique_blocks + 1)]

    assert found == sorted(found)


@given(any_prompts())
def test_the_capacity_for_a_share_is_the_least_that_reaches_it(prompts: list[Prompt]) -> None:
    curves = curves_of(prompts)
    most = hits(curves, curves.unique_blocks)[0]
    for share in (Fraction(1, 2), Fraction(9, 10), Fraction(1)):
        least = curves.capacity_for(share)
        if least is None:
            assert most == 0
            continue
        assert hits(curves, least)[0] >= share * most
        assert hits(curves, least - 1)[0] < share * most


@given(any_prompts())
def test_ids_that_name_no_prefix_are_noticed_and_chained_ones_are_not(
    prompts: list[Prompt],
) -> None:
    """An id is chained if it always follows the same id at the same place."""
    before: dict[int, set[tuple[int, ...]]] = {}
    for p in prompts:
        for place, block in enumerate(p.ids):
            before.setdefault(block, set()).add(p.ids[:place])
    if all(len(prefixes) == 1 for prefixes in before.values()):
        assert curves_of(prompts).unchained == 0
    # not the other way round: an odd id does no harm while nothing was there


def test_a_block_that_is_there_without_the_one_before_it_is_noticed() -> None:
    assert curves_of([prompt(0, A, B), prompt(1, C, B)]).unchained == 1


@pytest.mark.parametrize("points", [table_capacities, chart_capacities])
def test_points_are_chosen_up_to_the_last_change(points: object) -> None:
    """Each once, rising, with the capacity that reaches the ideal among them."""
    prompts = [prompt(at, *range(1, 2 + at % 50)) for at in range(500)]
    curves = curves_of(prompts)
    chosen = table_capacities(curves) if points is table_capacities else chart_capacities(curves)

    assert chosen == sorted(set(chosen))
    assert curves.capacity_for(Fraction(1)) in chosen
    assert chosen[0] >= 1
    assert chosen[-1] <= curves.unique_blocks
