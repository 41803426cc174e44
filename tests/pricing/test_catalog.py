"""The catalogue: prices with their validity, thresholds, tiers and hours."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from cachecast_datasets.errors import BadInput
from cachecast_pricing.catalog import Catalog, DatedCard, load_catalog
from cachecast_pricing.listing import listing
from cachecast_pricing.money import per_mtok_string
from cachecast_pricing.rates import ClassPrices, RateCard

CATALOG = load_catalog()
NEWEST = datetime(2026, 11, 15, tzinfo=UTC)


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def dated(model: str, on: str = "2026-11-15", provider: str | None = None) -> DatedCard:
    return CATALOG.card(CATALOG.resolve(model, provider), at(on))


def card(model: str, on: str = "2026-11-15", provider: str | None = None) -> RateCard:
    return dated(model, on, provider).card


def row(prices: ClassPrices) -> tuple[str | None, ...]:
    """fresh, read, 5m, 30m, 1h, 12h, output, per million tokens."""
    return tuple(
        per_mtok_string(price)
        for price in (
            prices.fresh, prices.cache_read, prices.cache_write_5m, prices.cache_write_30m,
            prices.cache_write_1h, prices.cache_write_12h, prices.output,
        )
    )  # fmt: skip


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


@pytest.mark.parametrize(
    ("moment", "peak"),
    [
        ("2026-11-16T00:59:59", False),
        ("2026-11-16T01:00:00", True),
        ("2026-11-16T03:59:59", True),
        ("2026-11-16T04:00:00", False),
        ("2026-11-16T06:00:00", True),
        ("2026-11-16T09:59:59", True),
        ("2026-11-16T10:00:00", False),
        ("2026-11-20T02:00:00", True),  # a Friday
        ("2026-11-21T02:00:00", False),  # a Saturday
        ("2026-11-22T02:00:00", False),
    ],
)
def test_deepseek_peak_hours_are_half_open_and_only_on_weekdays(moment: str, peak: bool) -> None:
    assert card("deepseek-flash").is_peak(at(moment)) is peak


def test_peak_hours_are_judged_in_utc_and_double_the_price() -> None:
    flash = card("deepseek-flash")

    assert flash.has_peak
    assert flash.is_peak(datetime.fromisoformat("2026-11-16T09:30:00+08:00"))  # 01:30 UTC
    assert row(flash.prices(0, peak=True)) == ("0.3", "0.006", None, None, None, None, "1.2")
    assert not card("claude-opus-5").has_peak


@pytest.mark.parametrize(
    ("model", "last_before", "first_after", "fresh_before", "fresh_after"),
    [
        ("gpt-5.6-luna", "2026-07-29T23:59:59", "2026-07-30", "1", "0.2"),
        ("gpt-5.6-terra", "2026-07-29T23:59:59", "2026-07-30", "2.5", "2"),
        ("gpt-5.6-sol", "2026-08-20T23:59:59", "2026-08-21", "5", "4"),
        ("deepseek-v4-pro", "2026-08-16T15:59:59", "2026-08-16T16:00:00", "0.435", "0.66"),
        ("deepseek-v4-flash", "2026-08-16T15:59:59", "2026-08-16T16:00:00", "0.14", "0.22"),
        ("deepseek-v4-flash", "2026-09-09T23:59:59", "2026-09-10", "0.22", "0.15"),
        ("gemini-3.7-flash", "2026-12-31T23:59:59", "2027-01-01", "0.75", "1.5"),
    ],
)
def test_a_price_changes_at_the_first_moment_of_the_new_one(
    model: str, last_before: str, first_after: str, fresh_before: str, fresh_after: str
) -> None:
    assert per_mtok_string(card(model, last_before).prices(0).fresh) == fresh_before
    assert per_mtok_string(card(model, first_after).prices(0).fresh) == fresh_after


def test_the_surcharge_of_opus_and_sonnet_4_6_ends_with_2026_03_12() -> None:
    for model in ("claude-opus-4.6", "claude-sonnet-4.6"):
        assert card(model, "2026-03-12T23:59:59").thresholds()
        assert card(model, "2026-03-13").thresholds() == ()


def test_the_read_price_of_sonnet_5_5_halves_on_2026_10_07() -> None:
    assert per_mtok_string(card("claude-sonnet-5.5", "2026-10-06").prices(0).cache_read) == "0.2"
    assert per_mtok_string(card("claude-sonnet-5.5", "2026-10-07").prices(0).cache_read) == "0.1"


@pytest.mark.parametrize(
    ("model", "day", "stated"),
    [
        ("claude-opus-5.5", "2026-09-21", "from 2026-09-22"),
        ("claude-haiku-5.5", "2026-10-06", "from 2026-10-07"),
        ("claude-sonnet-5.5", "2026-09-27", "from 2026-09-28 until before 2026-10-07"),
        ("gpt-6-sol", "2026-09-21", "from 2026-09-22"),
        ("gpt-5.6-luna", "2026-07-08", "from 2026-07-09"),
    ],
)
def test_a_day_outside_the_stated_validity_is_an_error_that_states_it(
    model: str, day: str, stated: str
) -> None:
    with pytest.raises(BadInput, match=f"no price for .*{model} on {day}: .*{stated}"):
        dated(model, day)


def test_a_day_before_the_reading_is_answered_with_a_note() -> None:
    assert dated("claude-opus-5", "2026-08-22").notes == ()
    (note,) = dated("claude-opus-5", "2026-08-21").notes
    assert "read on 2026-08-22" in note


def test_sol_after_its_promotion_keeps_the_promotion_price_with_a_note() -> None:
    assert dated("gpt-5.6-sol", "2026-11-21").notes == ()
    later = dated("gpt-5.6-sol", "2026-11-22")
    assert per_mtok_string(later.card.prices(0).fresh) == "4"
    assert "not confirmed" in later.notes[0]


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


def test_the_newest_date_is_the_latest_full_day_on_which_a_price_was_read() -> None:
    assert CATALOG.newest.isoformat() == "2026-11-15"


def test_every_card_has_a_source_a_reading_date_an_input_and_a_known_currency() -> None:
    for each in CATALOG.rows():
        assert each.sources
        assert all(len(source) > 10 for source in each.sources), each.sources
        assert each.checked.startswith("2026")
        assert each.prices(0).fresh is not None
        assert each.currency in ("USD", "CNY")


def test_the_periods_of_one_model_do_not_overlap() -> None:
    for each in CATALOG.rows():
        twins = [
            other for other in CATALOG.rows()
            if (other.provider, other.model, other.currency)
            == (each.provider, each.model, each.currency)
        ]  # fmt: skip
        for moment in (each.valid_from, each.valid_to, NEWEST):
            assert moment is None or sum(twin.valid_on(moment) for twin in twins) <= 1
        edge = each.valid_to
        if edge is not None:
            assert any(twin.valid_on(edge) for twin in twins), f"a gap after {each.model}"
            assert each.valid_on(edge - timedelta(microseconds=1))


def test_the_listing_has_one_row_for_each_card_with_prices_as_strings() -> None:
    rows = listing(CATALOG)

    assert len(rows) == len(CATALOG.rows())
    (sol,) = [r for r in rows if r["model"] == "gpt-6-sol"]
    assert sol["prices"]["standard"]["cache_write_30m"] == "2.5"
    assert sol["prices"]["batch"]["cache_write_1h"] is None
    assert sol["long_context"][0]["threshold"] == 272_000
    assert {r["provider"] for r in listing(CATALOG, "x-ai")} == {"xai"}


def negotiated(folder: Path, text: str) -> Catalog:
    path = folder / "rates.toml"
    path.write_text(text, "utf-8")
    return load_catalog(path)


RATES = """
provider = "anthropic"
[[models]]
model = "claude-opus-5"
valid_from = 2026-10-01T00:00:00Z
prices = { input = "4", cache_read = "0.4", cache_write_5m = "5", output = "20" }
source = ["our contract"]
checked = "2026-10-01"
"""


def test_negotiated_prices_lie_over_the_catalogue_on_the_days_of_their_validity(
    tmp_path: Path,
) -> None:
    catalog = negotiated(tmp_path, RATES)
    ref = catalog.resolve("claude-opus-5")

    ours = catalog.card(ref, at("2026-10-01")).card
    assert per_mtok_string(ours.prices(0).fresh) == "4"
    assert ours.sources == ("our contract",)
    assert per_mtok_string(catalog.card(ref, at("2026-09-30")).card.prices(0).fresh) == "5"
    assert catalog.newest == CATALOG.newest
    assert catalog.resolve("gpt-6-sol").provider == "openai"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('input = "4"', 'inptu = "4"'), "unknown field `inptu`"),
        (('input = "4"', "input = 4.0"), "Expected `str"),
        (('input = "4"', 'input = "4.0000001"'), "at most 6 decimals"),
        (('input = "4"', 'input = "-4"'), "expected >= 0"),
        (("2026-10-01T00:00:00Z", '"soon"'), "Invalid RFC3339"),
        (("2026-10-01T00:00:00Z", "2026-10-01T00:00:00"), "has no time zone"),
        (('checked = "2026-10-01"', 'checked = "last week"'), "expected YYYY"),
        (('checked = "2026-10-01"', 'tiers = { batch = "0.3333333" }\nchecked = "2026"'), "whole"),
        (
            ('checked = "2026-10-01"', 'tiers = { turbo = "2" }\nchecked = "2026"'),
            "known: standard",
        ),
        (("[[models]]", "[[models"), "not TOML"),
    ],
)
def test_a_rates_file_that_breaks_the_shape_is_refused_with_its_name(
    tmp_path: Path, change: tuple[str, str], message: str
) -> None:
    with pytest.raises(BadInput, match=message) as caught:
        negotiated(tmp_path, RATES.replace(*change))
    assert "rates.toml" in str(caught.value)


def test_a_missing_rates_file_is_refused_with_its_name(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"gone\.toml: No such file"):
        load_catalog(tmp_path / "gone.toml")
