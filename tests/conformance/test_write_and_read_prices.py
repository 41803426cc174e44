"""Write and read prices as multiples of the input price, for every model of a family."""

from fractions import Fraction

import pytest

from cachecast_pricing.catalog import load_catalog
from cachecast_pricing.rates import RateCard

READS = {  # of the input price; everything else is a tenth
    "claude-opus-5.5": {"0.05"}, "claude-sonnet-5.5": {"0.1", "0.05"},
    "claude-fable-5.1": {"0.025"}, "claude-mythos-5.1": {"0.025"},
    "gpt-6.1-sol": {"0.05"}, "gpt-6.1-terra": {"0.05"}, "gpt-6.2-sol": {"0.05"},
    "gpt-6.2-astra": {"0.05"},
}  # fmt: skip
ROUNDED = {"claude-haiku-3"}  # 0.25 / 0.30 / 0.50 / 0.03: read the table, do not multiply


def cards(provider: str) -> list[RateCard]:
    return [card for card in load_catalog().rows() if card.provider == provider]


def ratio(price: int | None, fresh: int | None) -> Fraction:
    assert price is not None
    assert fresh is not None
    return Fraction(price, fresh)


def test_anthropic_writes_at_1_25_and_2_and_reads_at_a_tenth() -> None:
    seen: dict[str, set[Fraction]] = {}
    for card in cards("anthropic"):
        for band in card.bands:
            prices = band.prices
            if card.model in ROUNDED:
                continue
            assert ratio(prices.cache_write_5m, prices.fresh) == Fraction("1.25"), card.model
            assert ratio(prices.cache_write_1h, prices.fresh) == 2, card.model
            seen.setdefault(card.model, set()).add(ratio(prices.cache_read, prices.fresh))
    expected = {m: {Fraction(x) for x in READS.get(m, {"0.1"})} for m in seen}
    assert seen == expected


def test_openai_from_5_6_on_writes_at_1_25() -> None:
    written = [card for card in cards("openai") if card.bands[0].prices.cache_write_30m]
    assert {card.model.split("-")[1] for card in written} == {"5.6", "6", "6.1", "6.2"}
    for card in written:
        for band in card.bands:
            prices = band.prices
            if prices.cache_write_30m is not None:  # terra's above 272K was not seen
                assert ratio(prices.cache_write_30m, prices.fresh) == Fraction("1.25"), card.model
            assert ratio(prices.cache_read, prices.fresh) in {
                Fraction(x) for x in READS.get(card.model, {"0.1"})
            }, card.model


@pytest.mark.parametrize("model", ["gpt-5.5", "gpt-5.4", "gpt-4o", "o3"])
def test_openai_before_5_6_has_no_write_price(model: str) -> None:
    for card in cards("openai"):
        if card.model == model:
            assert card.bands[0].prices.write_prices == ()


@pytest.mark.parametrize("model", ["deepseek-flash", "deepseek-v4-pro"])
def test_deepseek_has_no_write_price(model: str) -> None:
    for card in cards("deepseek"):
        if card.model == model:
            assert card.bands[0].prices.write_prices == ()
