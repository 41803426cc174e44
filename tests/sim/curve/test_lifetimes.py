"""Hit ratio at every lifetime, against a dict of moments."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sim.curve.made_prompts import BLOCK, SECOND, any_prompts, chained, curves_of, prompt
from sim.curve.slow_caches import Prompt, ttl_hits

from cachecast_sim.curve.curves import Curves
from cachecast_sim.curve.points import LIVES_US, chart_lives, table_lives

A, B, C = 1, 2, 3


def hits(curves: Curves, ttl_us: int, refresh: bool = True) -> tuple[int, int]:
    """(blocks, tokens) hit with this lifetime."""
    found = curves.at_ttl(ttl_us, refresh)
    assert curves.prompt_tokens is not None
    blocks, tokens = found.blocks or 0.0, found.tokens or 0.0
    return round(blocks * curves.total_blocks), round(tokens * curves.prompt_tokens)


@pytest.mark.parametrize("refresh", [True, False])
def test_a_life_includes_its_last_moment(refresh: bool) -> None:
    """Requests 60 s apart hit with 60 s, and not with a microsecond less."""
    lives = (60 * SECOND - 1, 60 * SECOND)
    curves = curves_of([prompt(0, A), prompt(60, A)], lives_us=lives)

    assert [hits(curves, life, refresh)[0] for life in lives] == [0, 1]


def test_a_use_prolongs_a_life_only_with_refresh() -> None:
    """0, 40, 80 s with 60 s: the use at 40 s carries A to 80 s, or it ends at 60 s."""
    prompts = [prompt(0, A), prompt(40, A), prompt(80, A)]
    curves = curves_of(prompts, lives_us=[60 * SECOND])

    assert hits(curves, 60 * SECOND, True)[0] == 2
    assert hits(curves, 60 * SECOND, False)[0] == 1


def test_an_expired_block_is_written_again_and_lives_anew() -> None:
    """With 60 s: written at 0, again at 80 s; so 120 s hits and 200 s does not."""
    prompts = [prompt(at, A) for at in (0, 80, 120, 200)]

    assert hits(curves_of(prompts, lives_us=[60 * SECOND]), 60 * SECOND, False)[0] == 1


def test_without_refresh_a_longer_life_can_hit_less() -> None:
    """9 s: A is written again at 10 s and A B C hit at 15 s. 10 s: A hits at 10 s, and at 15 s it
    has expired in front of B and C."""
    prompts = [prompt(0, A), prompt(10, A, B, C), prompt(15, A, B, C)]
    curves = curves_of(prompts, lives_us=[9 * SECOND, 10 * SECOND])

    assert [hits(curves, life * SECOND, False)[0] for life in (9, 10)] == [3, 1]


def test_a_run_ends_at_the_first_block_that_has_expired() -> None:
    """B is old at 100 s although A and C are fresh; with 100 s all three are hits."""
    prompts = [prompt(0, A, B, C), prompt(90, A), prompt(100, A, B, C)]
    curves = curves_of(prompts)

    assert [hits(curves, life * SECOND)[0] for life in (9, 10, 90, 99, 100)] == [0, 1, 2, 2, 4]


def test_blocks_behind_the_first_miss_are_used_too() -> None:
    """B is used at 50 s behind C, which nobody knew: at 100 s it is 50 s old."""
    prompts = [prompt(0, B), prompt(50, C, B), prompt(100, B)]

    assert hits(curves_of(prompts), 50 * SECOND)[0] == 1
    assert hits(curves_of(prompts), 49 * SECOND)[0] == 0


@given(any_prompts())
def test_every_lifetime_with_refresh_equals_the_slow_dict(prompts: list[Prompt]) -> None:
    """All differences of arrivals are tried, and the microsecond before each."""
    curves = curves_of(prompts)
    moments = {p.at_us for p in prompts}
    lives = {max(0, one - other - less) for one in moments for other in moments for less in (0, 1)}
    for life in lives:
        assert hits(curves, life) == ttl_hits(prompts, life, True, BLOCK), life


@given(any_prompts(), st.lists(st.integers(0, 200), min_size=1, max_size=6, unique=True))
def test_the_lifetimes_named_without_refresh_equal_the_slow_dict(
    prompts: list[Prompt], lives: list[int]
) -> None:
    curves = curves_of(prompts, lives_us=lives)
    for life in lives:
        assert hits(curves, life, False) == ttl_hits(prompts, life, False, BLOCK), life


@given(chained())
def test_a_longer_life_with_refresh_never_hits_less(prompts: list[Prompt]) -> None:
    curves = curves_of(prompts)
    found = [hits(curves, life) for life in range(0, 300, 5)]

    assert found == sorted(found)


@given(any_prompts())
def test_a_life_that_never_ends_hits_what_a_cache_without_limit_hits(prompts: list[Prompt]) -> None:
    curves = curves_of(prompts, lives_us=[10**15])

    assert curves.at_ttl(10**15) == curves.ideal
    assert curves.at_ttl(10**15, refresh=False) == curves.ideal


@given(any_prompts())
def test_the_life_for_a_share_is_the_least_that_reaches_it(prompts: list[Prompt]) -> None:
    curves = curves_of(prompts)
    most = hits(curves, 10**15)[0]
    for share in (Fraction(1, 2), Fraction(9, 10), Fraction(1)):
        least = curves.ttl_for(share)
        if least is None:
            assert most == 0
            continue
        assert hits(curves, least)[0] >= share * most
        assert least == 0 or hits(curves, least - 1)[0] < share * most


def test_points_are_chosen_up_to_the_first_life_that_reaches_the_ideal() -> None:
    """Requests 45 s apart: 1 min is enough."""
    curves = curves_of([prompt(45 * number, A, B) for number in range(10)])

    assert table_lives(curves) == [60 * SECOND]
    assert chart_lives(curves)[-1] == 60 * SECOND
    assert set(table_lives(curves)) <= set(LIVES_US)


def test_a_log_of_many_weeks_gets_a_life_as_long() -> None:
    """30 days is longer than any usual lifetime: 35 days are the next whole weeks."""
    curves = curves_of([prompt(0, A), prompt(30 * 86_400, A)])

    assert table_lives(curves)[-1] == 35 * 86_400 * SECOND
