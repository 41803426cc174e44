"""A quote: which price holds at which moment, and what it says about its doubts."""

from decimal import Decimal

import pytest
from priced import anthropic, price, total

from cachecast_datasets.errors import BadInput
from cachecast_pricing.charge import NoPrice
from cachecast_pricing.money import to_decimal
from cachecast_pricing.quote import Quote

MILLION = {"prompt_tokens": 1_000_000, "completion_tokens": 0}


def interval(result: Quote) -> tuple[Decimal, Decimal | None]:
    return to_decimal(result.low), None if result.high is None else to_decimal(result.high)


def said(result: Quote, words: str) -> bool:
    return any(words in note for note in result.notes)


@pytest.mark.parametrize(
    ("on", "expected"),
    [
        ("2026-11-16T00:59:59Z", "0.15"),
        ("2026-11-16T01:00:00Z", "0.30"),
        ("2026-11-16T09:00:00+08:00", "0.30"),  # the same moment
        ("2026-11-16T10:00:00Z", "0.15"),
        ("2026-11-15T02:00:00Z", "0.15"),  # a Sunday
    ],
)
def test_a_moment_decides_between_peak_and_off_peak(on: str, expected: str) -> None:
    result = price("deepseek-flash", MILLION, on=on)

    assert to_decimal(result.charge.total) == Decimal(expected)
    assert result.low == result.high


def test_a_bare_day_is_off_peak_and_the_interval_reaches_to_the_peak_price() -> None:
    result = price("deepseek-flash", MILLION, on="2026-11-16")

    assert to_decimal(result.charge.total) == Decimal("0.15")
    assert interval(result) == (Decimal("0.15"), Decimal("0.30"))
    assert said(result, "only the day is known")


def test_without_a_day_the_newest_prices_are_used_and_that_is_said() -> None:
    result = price("gpt-6-sol", {"prompt_tokens": 1_000, "completion_tokens": 0})

    assert said(result, "priced at 2026-11-15, the newest date in the catalogue")


def test_a_bare_day_on_which_the_price_changes_spans_both_prices() -> None:
    result = price("deepseek-v4-flash", MILLION, on="2026-08-16")

    assert to_decimal(result.charge.total) == Decimal("0.14")
    assert interval(result) == (Decimal("0.14"), Decimal("0.44"))  # 0.22, doubled at peak
    assert said(result, "the price changes at 2026-08-16T16:00:00+00:00")
    assert (
        price("gpt-5.6-luna", MILLION, on="2026-07-30").high
        == price("gpt-5.6-luna", MILLION, on="2026-07-30").low
    )  # a change at midnight is no change during the day


@pytest.mark.parametrize(
    "on", ["yesterday", "2026-13-01", "2026-11-16T02:00:00", "", "0001-01-01", "9999-12-31"]
)
def test_a_date_that_is_no_date_or_has_no_zone_is_refused(on: str) -> None:
    with pytest.raises(BadInput, match="date"):
        price("gpt-6-sol", MILLION, on=on)


def test_the_usage_itself_selects_the_tier_unless_one_is_asked_for() -> None:
    raw = {"input_tokens": 1_000_000, "output_tokens": 0}

    fast = price("claude-opus-5.5", {**raw, "speed": "fast"})
    assert to_decimal(fast.charge.total) == Decimal("8")
    assert said(fast, "service tier fast, as the usage says")
    assert total("claude-opus-5.5", {**raw, "service_tier": "batch"}) == Decimal("2")
    assert total("claude-opus-5.5", {**raw, "speed": "fast"}, tier="standard") == Decimal("4")


def test_a_tier_of_the_usage_without_a_price_of_its_own_is_standard_and_said_so() -> None:
    raw = {"input_tokens": 1_000, "output_tokens": 0, "service_tier": "priority"}

    assert said(price("claude-opus-5", raw), "no price of its own: standard is used")


def test_iterations_inherit_the_tier_of_their_usage() -> None:
    raw = {
        "input_tokens": 1, "output_tokens": 0, "speed": "fast",
        "iterations": [{"type": "message", "input_tokens": 1_000_000, "output_tokens": 0}],
    }  # fmt: skip

    assert total("claude-opus-5.5", raw) == Decimal("8")


def test_a_model_that_a_whole_usage_object_names_does_not_replace_the_one_asked_for() -> None:
    raw = {"input_tokens": 1_000_000, "output_tokens": 0, "model": "claude-haiku-4-5"}

    assert total("claude-opus-5", raw) == Decimal("5")


def test_us_only_inference_costs_a_tenth_more() -> None:
    raw = {"input_tokens": 1_000_000, "output_tokens": 0, "inference_geo": "us"}

    assert total("claude-opus-5", raw) == Decimal("5.5")
    assert total("claude-opus-4.5", raw) == Decimal("5")
    assert said(price("claude-opus-4.5", raw), "no regional price is known")


def test_a_regional_price_may_be_asked_for_where_there_is_one() -> None:
    raw = {"input_tokens": 100_000, "output_tokens": 0}

    assert total("gpt-6-sol", raw, regional=True) == Decimal("0.22")
    assert said(price("gpt-6-sol", raw, regional=True), "regional processing, as asked: 1.1 times")
    with pytest.raises(BadInput, match=r"no regional price is known for deepseek/deepseek-flash"):
        price("deepseek-flash", raw, regional=True)


def test_a_regional_bedrock_id_costs_a_tenth_more_than_the_global_one() -> None:
    raw = {"inputTokens": 1_000_000, "outputTokens": 0}

    assert total("eu.anthropic.claude-opus-5-v1:0", raw) == Decimal("5.5")
    assert total("global.anthropic.claude-opus-5-v1:0", raw) == Decimal("5")


def test_a_claude_model_behind_an_openai_shaped_gateway_has_writes_of_unknown_lifetime() -> None:
    raw = {
        "prompt_tokens": 1_000, "completion_tokens": 0,
        "prompt_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 1_000},
    }  # fmt: skip
    result = price("claude-opus-5", raw, api="openai-chat")

    assert result.reading.usage.cache_write_unknown == 1_000
    assert interval(result) == (Decimal("0.00625"), Decimal("0.01"))


def test_a_write_of_a_model_without_a_write_price_is_refused() -> None:
    raw = {
        "prompt_tokens": 300_000, "completion_tokens": 0,
        "prompt_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 300_000},
    }  # fmt: skip
    for model in ("gpt-5.5", "gpt-6.1-terra"):  # terra lists no write price above 272k
        with pytest.raises(NoPrice, match="no cache_write_30m price, but the usage has 300000"):
            price(model, raw)


def test_terra_writes_are_priced_at_the_default_lifetime_and_the_other_one_is_named() -> None:
    raw = {
        "prompt_tokens": 1_000, "completion_tokens": 0,
        "prompt_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 1_000},
    }  # fmt: skip
    result = price("gpt-6.1-terra", raw)

    assert to_decimal(result.charge.total) == Decimal("0.00125")
    assert said(result, "also sells 12 hours")


def test_an_additive_null_leaves_the_amount_open_upwards() -> None:
    raw = {"input_tokens": 1_000, "cache_read_input_tokens": None, "output_tokens": 0}
    result = price("claude-opus-5", raw)

    assert interval(result) == (Decimal("0.005"), None)
    assert result.as_json()["interval"] == {"low": "0.005", "high": None}
    assert said(result, "a lower bound")


def test_an_inclusive_null_is_bounded_by_the_prompt() -> None:
    raw = {**MILLION, "prompt_tokens": 1_000, "prompt_tokens_details": {"cached_tokens": None}}
    result = price("gpt-5.5", raw)

    assert to_decimal(result.charge.total) == Decimal("0.005")
    assert interval(result) == (Decimal("0.0005"), Decimal("0.005"))


def test_a_host_that_was_not_asked_for_is_named_with_the_others() -> None:
    raw = {"prompt_tokens": 1_000, "completion_tokens": 0}

    assert said(price("gpt-oss-120b", raw), "also listed by groq (openai/gpt-oss-120b)")
    assert not said(price("kimi-k3", raw), "also listed")


def test_a_long_prompt_says_that_it_is_at_the_long_context_price() -> None:
    result = price("gpt-6-luna", {**MILLION, "prompt_tokens": 272_001})

    assert said(result, "272001 tokens is > 272000")
    assert said(result, "no price row of its own")


def test_googles_batch_discount_on_cached_tokens_is_said_to_be_unconfirmed() -> None:
    raw = {"promptTokenCount": 10, "cachedContentTokenCount": 5, "candidatesTokenCount": 1}

    assert said(price("gemini-2.5-flash", raw, tier="batch"), "not confirmed")


def test_every_class_has_a_line_with_its_price_and_the_lines_add_up_to_the_charge() -> None:
    result = price("claude-opus-5", anthropic(fresh=400, read=8_000, m5=100, h1=20, out=50))

    lines = {line["class"]: line for line in result.as_json()["lines"]}
    assert {name: line["per_mtok"] for name, line in lines.items()} == {
        "fresh": "5", "cache_read": "0.5", "cache_write_5m": "6.25", "cache_write_1h": "10",
        "output": "25",
    }  # fmt: skip
    assert lines["cache_write_1h"]["charge"] == "0.0002"
    assert sum(line.amount for line in result.lines) == result.charge.total


def test_writes_of_unknown_lifetime_have_a_line_with_both_ends_of_their_price() -> None:
    raw = {"input_tokens": 0, "output_tokens": 0, "cache_creation_input_tokens": 1_000}
    (line,) = [x for x in price("claude-opus-5", raw).lines if x.name == "cache_write_unknown"]

    assert (line.as_json()["per_mtok"], line.as_json()["per_mtok_high"]) == ("6.25", "10")


def test_iterations_under_two_models_have_a_line_for_each_price() -> None:
    raw = {
        "input_tokens": 1, "output_tokens": 0,
        "iterations": [
            {"type": "message", "input_tokens": 100, "output_tokens": 0},
            {"type": "message", "input_tokens": 50, "output_tokens": 0},
            {"type": "a", "model": "claude-haiku-4-5", "input_tokens": 10, "output_tokens": 0},
        ],
    }  # fmt: skip
    fresh = [x for x in price("claude-opus-5", raw).lines if x.name == "fresh"]

    assert [(x.tokens, x.as_json()["per_mtok"]) for x in fresh] == [(150, "5"), (10, "1")]


def test_where_only_the_day_is_known_the_cost_without_a_cache_is_a_range_too() -> None:
    assert said(
        price("deepseek-flash", MILLION, on="2026-11-16"),
        "without a cache between 0.15 and 0.3 USD",
    )
    assert not said(price("deepseek-flash", MILLION, on="2026-11-16T02:00:00Z"), "between")


@pytest.mark.parametrize(
    ("cost", "words"),
    [
        (0.0026, "the provider's own cost is 0.0026 USD, 0.0001 more than ours"),
        (0.0024, "the provider's own cost is 0.0024 USD, 0.0001 less than ours"),
        (0.0025, "the provider's own cost is 0.0025 USD, the same as ours"),
    ],
)
def test_a_cost_that_the_provider_states_stands_beside_ours(cost: float, words: str) -> None:
    raw = {"prompt_tokens": 500, "completion_tokens": 0, "cost": cost, "is_byok": False}

    assert to_decimal(price("claude-opus-5", raw).charge.total) == Decimal("0.0025")
    assert said(price("claude-opus-5", raw), words)
