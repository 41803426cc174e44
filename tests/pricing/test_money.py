"""Money is exact: picounits inside, canonical decimals at the edges."""

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachecast_datasets.errors import BadInput
from cachecast_pricing.money import (
    PICO,
    decimal_string,
    per_mtok_string,
    picounits_per_token,
    times,
    to_decimal,
)  # fmt: skip

picounits = st.integers(min_value=-(10**30), max_value=10**30)


@pytest.mark.parametrize(
    ("price", "expected"),
    [("0.003625", 3625), ("5", 5_000_000), ("0", 0), ("0.000001", 1), (Decimal("22.50"), 22500000)],
)
def test_a_price_per_mtok_times_a_million_is_the_price_of_a_token(
    price: str | Decimal, expected: int
) -> None:
    assert picounits_per_token(price) == expected


@pytest.mark.parametrize("price", ["0.0000001", "-1", "NaN", "Infinity", "five", ""])
def test_an_inexact_negative_or_unreadable_price_is_refused(price: str) -> None:
    with pytest.raises(BadInput):
        picounits_per_token(price)


@pytest.mark.parametrize(
    ("amount", "expected"),
    [
        (54_399_000_000, "0.054399"),
        (0, "0"),
        (12 * PICO, "12"),
        (1, "0.000000000001"),
        (-15_000_000_000, "-0.015"),
        (1_200_000 * PICO, "1200000"),
    ],
)
def test_an_amount_is_written_without_exponent_and_without_trailing_zeros(
    amount: int, expected: str
) -> None:
    assert decimal_string(amount) == expected


@given(picounits)
def test_the_decimal_and_the_string_of_an_amount_are_the_same_number(amount: int) -> None:
    assert to_decimal(amount) == Decimal(decimal_string(amount))
    assert Fraction(to_decimal(amount)) == Fraction(amount, PICO)
    assert "E" not in decimal_string(amount)


@given(st.integers(min_value=0, max_value=10**9))
def test_a_price_survives_the_way_to_picounits_and_back(micro: int) -> None:
    price = Decimal(micro).scaleb(-6)
    text = per_mtok_string(picounits_per_token(price))

    assert text is not None
    assert Decimal(text) == price


def test_no_price_stays_no_price() -> None:
    assert per_mtok_string(None) is None


def test_a_factor_that_breaks_a_picounit_is_refused() -> None:
    assert times(3625, Fraction(2), "x") == 7250
    with pytest.raises(BadInput, match="not a whole number"):
        times(3625, Fraction(1, 2), "x")
