"""Charges: tokens times price, class by class, exact, and an interval where a lifetime is open."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachecast_datasets.errors import BadInput
from cachecast_pricing.charge import (
    Charge,
    NoPrice,
    charge,
    storage_charge,
    sum_of,
    unknown_bounds,
    without_cache,
)
from cachecast_pricing.rates import ClassPrices
from cachecast_pricing.usage import CLASSES, Usage

HOUR_US = 3_600_000_000


def mtok(price: str, tokens: int) -> int:
    """Picounits of `tokens` at a price per million."""
    return int(Decimal(price) * 10**6) * tokens


# Claude Opus 5
OPUS = ClassPrices(
    fresh=5_000_000, cache_read=500_000, cache_write_5m=6_250_000, cache_write_1h=10_000_000,
    output=25_000_000,
)  # fmt: skip

token_counts = st.integers(min_value=0, max_value=10**7)
usages = st.builds(
    Usage, fresh=token_counts, cache_read=token_counts, cache_write_5m=token_counts,
    cache_write_30m=st.just(0), cache_write_1h=token_counts, cache_write_12h=st.just(0),
    cache_write_unknown=token_counts, output=token_counts,
)  # fmt: skip


def test_each_class_is_charged_at_its_own_price() -> None:
    bill = charge(
        Usage(fresh=400, cache_read=600, cache_write_5m=50, cache_write_1h=70, output=20), OPUS
    )

    assert bill.fresh == mtok("5", 400)
    assert bill.cache_read == mtok("0.5", 600)
    assert bill.cache_write == mtok("6.25", 50) + mtok("10", 70)
    assert bill.output == mtok("25", 20)
    assert bill.total == bill.fresh + bill.cache_read + bill.cache_write + bill.output
    assert bill.low == bill.high == bill.total


def test_writes_of_unknown_lifetime_cost_between_the_cheapest_and_the_dearest_write() -> None:
    bill = charge(Usage(cache_write_unknown=1_000), OPUS)

    assert bill.total == bill.low == mtok("6.25", 1_000)
    assert bill.high == mtok("10", 1_000)


def test_writes_of_unknown_lifetime_are_certain_where_only_one_lifetime_is_sold() -> None:
    bill = charge(Usage(cache_write_unknown=1_000), ClassPrices(cache_write_30m=2_500_000))

    assert bill.low == bill.high == mtok("2.5", 1_000)


@pytest.mark.parametrize("name", CLASSES)
def test_tokens_of_a_class_without_a_price_are_refused_and_none_of_them_are_not(name: str) -> None:
    with pytest.raises(NoPrice, match=f"no {name} price, but the usage has 1 {name} tokens"):
        charge(Usage(**{name: 1}), ClassPrices())
    assert charge(Usage(), ClassPrices()).total == 0


def test_without_a_cache_every_prompt_token_costs_the_input_price() -> None:
    usage = Usage(fresh=1, cache_read=2, cache_write_1h=3, cache_write_unknown=4, output=5)

    assert without_cache(usage, OPUS) == mtok("5", 1 + 2 + 3 + 4) + mtok("25", 5)


@given(usages, st.integers(min_value=1, max_value=1000))
def test_a_charge_is_linear_in_its_tokens(usage: Usage, times: int) -> None:
    many = Usage(**{name: times * count for name, count in usage.as_dict().items()})
    one, all_of_them = charge(usage, OPUS), charge(many, OPUS)

    assert all_of_them.total == times * one.total
    assert all_of_them.high == times * one.high
    assert without_cache(many, OPUS) == times * without_cache(usage, OPUS)


@given(usages, usages)
def test_charges_add_up_class_by_class(first: Usage, second: Usage) -> None:
    both = Usage(**{name: getattr(first, name) + getattr(second, name) for name in first.as_dict()})

    assert sum_of([charge(first, OPUS), charge(second, OPUS)]) == charge(both, OPUS)


@given(usages)
def test_nothing_is_negative_and_the_total_lies_in_its_interval(usage: Usage) -> None:
    bill = charge(usage, OPUS)

    assert min(bill.fresh, bill.cache_read, bill.cache_write, bill.output) >= 0
    assert bill.low <= bill.total <= bill.high


@given(usages)
def test_the_prompt_is_the_sum_of_its_seven_classes(usage: Usage) -> None:
    assert usage.prompt_tokens == sum(usage.as_dict().values()) - usage.output
    assert usage.prompt_tokens == usage.fresh + usage.cache_read + usage.cache_write


def test_amounts_in_two_currencies_are_not_added() -> None:
    dollar = charge(Usage(), OPUS)
    yuan = Charge("CNY", 0, 0, 0, 0, 0, 0, 0)
    with pytest.raises(BadInput, match="cannot add USD and CNY"):
        sum_of([dollar, yuan])


def test_storage_is_prorated_to_the_actual_lifetime() -> None:
    prices = ClassPrices(storage=4_500_000)  # 4.50 per MTok-hour

    assert storage_charge(100_000, HOUR_US, prices) == mtok("4.5", 100_000)
    assert storage_charge(100_000, HOUR_US // 4, prices) == mtok("4.5", 25_000)
    with pytest.raises(NoPrice):
        storage_charge(1, 1, OPUS)


@pytest.mark.parametrize(
    ("unknown", "inclusive", "low", "high"),
    [
        (set(), True, "5", "5"),
        ({"cache_read"}, True, "0.5", "5"),
        ({"cache_write"}, True, "5", "10"),
        ({"cache_read", "cache_write"}, True, "0.5", "10"),
        ({"cache_read"}, False, "5", None),
        ({"output"}, True, "5", None),
        ({"fresh"}, True, "5", None),
    ],
)
def test_unknown_classes_are_bounded_by_the_cheapest_and_the_dearest_that_they_can_be(
    unknown: set[str], inclusive: bool, low: str, high: str | None
) -> None:
    usage = Usage(fresh=1_000, output=0)
    bounds = unknown_bounds(usage, charge(usage, OPUS), OPUS, unknown, inclusive=inclusive)

    assert bounds == (mtok(low, 1_000), None if high is None else mtok(high, 1_000))


def test_nothing_of_an_unknown_class_without_a_price_costs_nothing() -> None:
    usage, prices = Usage(), ClassPrices(output=1)

    assert unknown_bounds(usage, charge(usage, prices), prices, {"cache_read"}, inclusive=True) == (
        0,
        0,
    )
