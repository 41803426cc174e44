"""A sample of blocks: right on average, and honest about its error."""

import random
from fractions import Fraction

import pytest
from sim.curve.made_prompts import curves_of, prompt
from sim.curve.slow_caches import Prompt

from cachecast_datasets.errors import BadInput
from cachecast_sim.curve.curves import Curves
from cachecast_sim.curve.sample import GROUPS, STUDENT_T, estimate


def sessions(seed: int, count: int = 40, turns: int = 12) -> list[Prompt]:
    """Conversations that grow turn by turn, interleaved; all share a system prompt of 20 blocks."""
    draw = random.Random(seed)
    offset = draw.randrange(2**40)
    grown = {s: list(range(offset, offset + 20)) for s in range(count)}
    fresh = iter(range(offset + 1_000, offset + 10**7))
    prompts = []
    for at in range(count * turns):
        ids = grown[draw.randrange(count)]
        ids += [next(fresh) for _ in range(draw.randint(5, 40))]
        prompts.append(prompt(at, *ids))
    return prompts


def inside(exact: Curves, found: Curves, capacity: int, ttl_us: int) -> list[bool]:
    """For each ratio, whether its interval holds the exact value."""
    pairs = [
        (exact.at_capacity(capacity), found.at_capacity(capacity)),
        (exact.at_ttl(ttl_us), found.at_ttl(ttl_us)),
    ]
    result = []
    for truth, guess in pairs:
        for value, interval in (
            (truth.blocks, guess.blocks_interval),
            (truth.tokens, guess.tokens_interval),
        ):
            assert value is not None
            assert interval is not None
            result.append(interval[0] <= value <= interval[1])
    return result


def test_a_sample_of_everything_is_exact() -> None:
    prompts = sessions(0)
    exact, sample = curves_of(prompts), curves_of(prompts, sample=1.0)

    assert sample.unique_blocks == exact.unique_blocks
    for capacity in (0, 1, 100, 1_000, 5_000):
        found = sample.at_capacity(capacity)
        assert (found.blocks, found.tokens) == (
            exact.at_capacity(capacity).blocks,
            exact.at_capacity(capacity).tokens,
        )


@pytest.fixture(scope="module")
def pairs() -> list[tuple[Curves, Curves]]:
    """(exact, a fifth of the blocks) for 40 logs."""
    logs = [sessions(seed) for seed in range(40)]
    return [(curves_of(prompts), curves_of(prompts, sample=0.2)) for prompts in logs]


def test_the_stated_intervals_hold_the_truth_as_often_as_they_say(
    pairs: list[tuple[Curves, Curves]],
) -> None:
    """95 of 100; fewer in 40 logs x 4 ratios would be a false promise."""
    held = [ok for exact, found in pairs for ok in inside(exact, found, 2_000, 30_000_000)]

    assert sum(held) >= 0.95 * len(held)


def test_estimates_are_right_on_average(pairs: list[tuple[Curves, Curves]]) -> None:
    """Over 40 logs the mean error is below a percentage point: no bias hides in the intervals."""
    errors = []
    for exact, found in pairs:
        for capacity in (500, 2_000, 5_000):
            one, other = exact.at_capacity(capacity).blocks, found.at_capacity(capacity).blocks
            assert one is not None
            assert other is not None
            errors.append(other - one)

    assert abs(sum(errors) / len(errors)) < 0.01


def test_a_share_of_the_distinct_blocks_is_followed_and_scaled_up() -> None:
    prompts = sessions(1)
    exact, found = curves_of(prompts), curves_of(prompts, sample=0.2)

    assert found.total_blocks == exact.total_blocks
    assert found.sampled_blocks < 0.3 * exact.total_blocks
    assert abs(found.unique_blocks / exact.unique_blocks - 1) < 0.15
    least, exact_least = found.capacity_for(Fraction(9, 10)), exact.capacity_for(Fraction(9, 10))
    assert least is not None
    assert exact_least is not None
    assert abs(least / exact_least - 1) < 0.15


@pytest.mark.parametrize("seed", range(20))
def test_ratios_and_intervals_stay_between_nothing_and_everything(seed: int) -> None:
    """Also where few blocks are followed and the estimates leave [0, 1] by themselves."""
    found = curves_of(sessions(seed, count=3, turns=6), sample=0.3)

    for ratios in (found.at_capacity(2), found.at_ttl(10), found.ideal):
        assert ratios.blocks is not None
        assert ratios.blocks_interval is not None
        low, high = ratios.blocks_interval
        assert 0 <= low <= ratios.blocks <= high <= 1


def test_a_sample_that_leaves_too_little_says_so() -> None:
    with pytest.raises(BadInput, match="too few to state an error"):
        curves_of([prompt(0, *range(40))], sample=0.1)


def test_ids_that_name_no_prefix_cannot_be_sampled() -> None:
    """Blocks in any order: that one is there says nothing about the one before it."""
    prompts = [prompt(0, *range(1_000)), prompt(1, *reversed(range(1_000)))]
    with pytest.raises(BadInput, match="do not name whole prefixes"):
        curves_of(prompts, sample=0.5)


def test_lifetimes_without_refresh_cannot_be_sampled() -> None:
    """B written again behind an A that is still alive would outlive it."""
    with pytest.raises(BadInput, match="--sample and --no-refresh"):
        curves_of([prompt(0, *range(1_000))], sample=0.5, lives_us=[1])


def test_the_interval_is_students_for_the_mean_of_the_groups() -> None:
    """16 groups, half of them at 0.4 and half at 0.6: variance 16 x 0.01 / 15, half of it known."""
    groups = [0.4] * (GROUPS // 2) + [0.6] * (GROUPS // 2)
    half = STUDENT_T * (0.16 / 15 / GROUPS) ** 0.5

    found = estimate(0.5, groups)
    assert (found.value, found.low, found.high) == pytest.approx((0.5, 0.5 - half, 0.5 + half))


def test_an_interval_stays_between_nothing_and_everything() -> None:
    found = estimate(0.01, [0.0] * (GROUPS - 1) + [1.0])

    assert (found.low, found.high < 1) == (0.0, True)
