"""The catalogue: prices with their validity, thresholds, tiers and hours."""

import pytest
from priced import CATALOG, NEWEST, card, row

from cachecast_datasets.errors import BadInput
from cachecast_pricing.listing import listing
from cachecast_pricing.money import per_mtok_string


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("claude-fable-5.1", ("10", "0.25", "12.5", None, "20", None, "50")),
        ("claude-mythos-5.1", ("10", "0.25", "12.5", None, "20", None, "50")),
        ("claude-fable-5", ("10", "1", "12.5", None, "20", None, "50")),
        ("claude-opus-5.5", ("4", "0.2", "5", None, "8", None, "20")),
        ("claude-opus-5", ("5", "0.5", "6.25", None, "10", None, "25")),
        ("claude-sonnet-3.7", ("3", "0.3", "3.75", None, "6", None, "15")),
        ("claude-sonnet-5", ("2", "0.2", "2.5", None, "4", None, "10")),
        ("claude-haiku-3", ("0.25", "0.03", "0.3", None, "0.5", None, "1.25")),
        ("gpt-6-sol", ("2", "0.2", None, "2.5", None, None, "10")),
        ("gpt-6.1-terra", ("1", "0.05", None, "1.25", None, "2.5", "5")),
        ("gpt-5.5", ("5", "0.5", None, None, None, None, "30")),
        ("gpt-5.5-pro", ("30", None, None, None, None, None, "180")),
        ("gemini-3-pro-preview", ("2", "0.2", None, None, None, None, "12")),
        ("grok-4.6", ("2", "0.5", None, None, None, None, "6")),
        ("kimi-k3", ("3", "0.3", "3", None, "6", None, "15")),
        ("qwen3.8-max", ("2", "0.25", None, None, None, None, "6")),
        ("MiniMax-M2.7", ("0.3", "0.06", "0.375", None, None, None, "1.2")),
        ("openai/gpt-oss-20b", ("0.075", "0.0375", None, None, None, None, "0.3")),
    ],
)
def test_standard_prices_are_read_from_the_table_and_a_missing_one_is_no_price(
    model: str, expected: tuple[str | None, ...]
) -> None:
    assert row(card(model).prices(1_000)) == expected


@pytest.mark.parametrize(
    ("model", "on", "fresh_below", "below", "fresh_above"),
    [
        ("claude-sonnet-4.5", "2026-11-15", "3", 200_000, "6"),
        ("claude-sonnet-4", "2026-11-15", "3", 200_000, "6"),
        ("claude-sonnet-4.6", "2026-03-12", "3", 200_000, "6"),
        ("claude-opus-4.6", "2026-03-12", "5", 200_000, "10"),
        ("claude-haiku-5.5", "2026-11-15", "0.1", 100_000, "0.5"),
        ("gpt-6-sol", "2026-11-15", "2", 272_000, "4"),
        ("gpt-6-luna", "2026-11-15", "0.1", 272_000, "0.2"),
        ("gpt-5.6-luna", "2026-07-15", "1", 272_000, "2"),
        ("gpt-5.6-terra", "2026-11-15", "2", 272_000, "4"),
        ("gemini-3.1-pro-preview", "2026-11-15", "2", 200_000, "4"),
        ("gemini-3-pro-preview", "2026-11-15", "2", 200_000, "4"),
        ("MiniMax-M3", "2026-11-15", "0.3", 512_000, "0.6"),
        ("grok-4.6", "2026-11-15", "2", 199_999, "4"),  # xAI: from 200,000 on, not above it
        ("grok-4.3", "2026-11-15", "1.25", 199_999, "2.5"),
    ],
)
def test_the_next_token_after_the_threshold_moves_the_whole_request(
    model: str, on: str, fresh_below: str, below: int, fresh_above: str
) -> None:
    prices = card(model, on).prices

    assert per_mtok_string(prices(below).fresh) == fresh_below
    assert per_mtok_string(prices(below + 1).fresh) == fresh_above


def test_the_long_context_rule_of_gpt_5_6_and_later_doubles_input_and_adds_half_to_output() -> None:
    luna = card("gpt-6-luna")

    assert row(luna.prices(272_001)) == ("0.2", "0.02", None, "0.25", None, None, "0.75")
    note = luna.band_of(272_001).note
    assert note is not None
    assert "no price row of its own" in note


def test_a_model_with_its_own_long_context_row_has_no_write_price_where_none_is_listed() -> None:
    terra = card("gpt-6.1-terra")

    assert row(terra.prices(272_001)) == ("2", "0.1", None, None, None, None, "7.5")
    for tier in ("batch", "flex"):
        assert row(terra.prices(0, tier=tier)) == ("0.5", "0.025", None, None, None, None, "2.5")
    assert row(terra.prices(0, tier="fast"))[3] == "2.5"


@pytest.mark.parametrize(
    ("model", "tier", "expected"),
    [
        ("claude-opus-5", "batch", ("2.5", "0.25", "3.125", None, "5", None, "12.5")),
        ("claude-opus-5.5", "fast", ("8", "0.4", "10", None, "16", None, "40")),
        ("claude-opus-5", "fast", ("10", "1", "12.5", None, "20", None, "50")),
        ("claude-opus-4.8", "fast", ("10", "1", "12.5", None, "20", None, "50")),
        ("gpt-6-sol", "flex", ("1", "0.1", None, "1.25", None, None, "5")),
        ("gpt-6-sol", "priority", ("4", "0.4", None, "5", None, None, "20")),
        ("gemini-2.5-pro", "priority", ("2.25", "0.225", None, None, None, None, "18")),
        ("mistral-large-2512", "priority", ("0.875", "0.0875", None, None, None, None, "2.625")),
        ("MiniMax-M3", "priority", ("0.45", "0.09", None, None, None, None, "1.8")),
    ],
)
def test_a_service_tier_multiplies_every_class_the_cached_ones_too(
    model: str, tier: str, expected: tuple[str | None, ...]
) -> None:
    assert row(card(model).prices(1_000, tier=tier)) == expected


def test_an_unknown_service_tier_is_answered_with_the_ones_that_the_model_has() -> None:
    with pytest.raises(BadInput, match="it has: standard, batch, fast"):
        card("claude-opus-5").prices(1_000, tier="flex")


def test_regional_processing_costs_a_tenth_more_where_the_provider_says_so() -> None:
    assert per_mtok_string(card("claude-opus-5").prices(0, regional=True).fresh) == "5.5"
    assert per_mtok_string(card("gpt-6-sol").prices(0, regional=True).cache_read) == "0.22"
    assert card("claude-opus-4.5").prices(0, regional=True) == card("claude-opus-4.5").prices(0)


def test_yuan_prices_are_an_alternative_that_has_to_be_asked_for() -> None:
    ref = CATALOG.resolve("deepseek-flash")

    assert CATALOG.card(ref, NEWEST).card.currency == "USD"
    yuan = CATALOG.card(ref, NEWEST, "CNY").card
    assert row(yuan.prices(0, peak=True)) == ("2", "0.04", None, None, None, None, "8")
    with pytest.raises(BadInput, match=r"no CNY price for .*gpt-5\.5; it has: USD"):
        CATALOG.card(CATALOG.resolve("gpt-5.5"), NEWEST, "CNY")


def test_storage_is_a_price_only_where_it_is_listed_and_free_where_it_says_so() -> None:
    assert per_mtok_string(card("gemini-3.1-pro-preview").prices(0).storage) == "4.5"
    assert per_mtok_string(card("gemini-3.8-flash").prices(0).storage) == "0.5"
    assert per_mtok_string(card("gemini-3.8-flash", "2027-01-01").prices(0).storage) == "1"
    assert card("glm-5.2").prices(0).storage == 0
    assert card("claude-opus-5").prices(0).storage is None


def test_every_card_has_a_source_a_reading_date_an_input_and_a_known_currency() -> None:
    for each in CATALOG.rows():
        assert each.sources
        assert all(len(source) > 10 for source in each.sources), each.sources
        assert each.checked.startswith("2026")
        assert each.prices(0).fresh is not None
        assert each.currency in ("USD", "CNY")


def test_the_listing_has_one_row_for_each_card_with_prices_as_strings() -> None:
    rows = listing(CATALOG)

    assert len(rows) == len(CATALOG.rows())
    (sol,) = [r for r in rows if r["model"] == "gpt-6-sol"]
    assert sol["prices"]["standard"]["cache_write_30m"] == "2.5"
    assert sol["prices"]["batch"]["cache_write_1h"] is None
    assert sol["long_context"][0]["threshold"] == 272_000
    assert {r["provider"] for r in listing(CATALOG, "x-ai")} == {"xai"}
