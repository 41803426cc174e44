"""Mistakes that other tools made with usage and money, each by its id: none may happen here.

Group 1 and 5 of the bug cases (public issue threads, read 2026-11-29) and section E of the known
faults. Expected bills are written as arithmetic on list prices per million tokens.

Not here, because they are about something else:
- BR-31 (the usage of a separate compact call was never added) is about reading logs.
- BR-107 (hit rate over all rows) is a total of `cachecast bill`.
- BR-112 (is tool_choice in the key?) is a cache rule.
- known fault 41 asks vLLM for cache accounting, 42 describes TTL pins of servers: they state no
  usage and no price.
"""

from decimal import Decimal
from typing import Any

import pytest

from cachecast_datasets.errors import BadInput
from cachecast_pricing.apis.anthropic import merge_stream
from cachecast_pricing.catalog import load_catalog
from cachecast_pricing.charge import NoPrice, storage_charge
from cachecast_pricing.money import to_decimal
from cachecast_pricing.quote import Quote, quote
from cachecast_pricing.rates import ClassPrices
from cachecast_pricing.reading import read_usage
from cachecast_pricing.usage import Usage

CATALOG = load_catalog()
HOUR_US = 3_600_000_000


def price(model: str, raw: dict[str, Any], **how: Any) -> Quote:
    return quote(CATALOG, model, raw, **how)


def total(model: str, raw: dict[str, Any], **how: Any) -> Decimal:
    return to_decimal(price(model, raw, **how).charge.total)


def mtok(*parts: tuple[str, int]) -> Decimal:
    """The sum of tokens times price per million."""
    return sum((Decimal(p) * tokens for p, tokens in parts), Decimal()) / 10**6


def anthropic(
    fresh: int = 0, read: int = 0, m5: int = 0, h1: int = 0, out: int = 0
) -> dict[str, Any]:
    return {
        "input_tokens": fresh,
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": m5 + h1,
        "cache_creation": {"ephemeral_5m_input_tokens": m5, "ephemeral_1h_input_tokens": h1},
        "output_tokens": out,
    }


def chat(prompt: int, cached: int, out: int, written: int = 0) -> dict[str, Any]:
    return {
        "prompt_tokens": prompt,
        "completion_tokens": out,
        "total_tokens": prompt + out,
        "prompt_tokens_details": {"cached_tokens": cached, "cache_write_tokens": written},
    }


def test_br_01_a_write_is_priced_once_and_is_not_part_of_the_input() -> None:
    bill = total("claude-sonnet-3.7", anthropic(fresh=3, m5=12_304, out=550))

    assert bill == mtok(("3", 3), ("3.75", 12_304), ("15", 550)) == Decimal("0.054399")


@pytest.mark.parametrize(
    ("read", "written", "billed", "uncached", "saving"),
    [
        (0, 20_000, "0.076530", "0.061530", "-0.015000"),
        (20_000, 0, "0.007530", "0.061530", "0.054000"),
        (1_000, 20_000, "0.076830", "0.064530", "-0.012300"),
        (20_000, 500, "0.009405", "0.063030", "0.053625"),
    ],
)
def test_br_02_the_net_saving_counts_the_write_premium(
    read: int, written: int, billed: str, uncached: str, saving: str
) -> None:
    result = price("claude-sonnet-4.5", anthropic(fresh=10, read=read, m5=written, out=100))

    assert to_decimal(result.charge.total) == Decimal(billed)
    assert to_decimal(result.without_cache) == Decimal(uncached)
    assert to_decimal(result.net_saving) == Decimal(saving)


def test_br_04_and_known_fault_44_a_one_hour_write_costs_the_one_hour_price() -> None:
    bill = total("claude-opus-5", anthropic(h1=344_139))

    assert bill == mtok(("10", 344_139)) == Decimal("3.44139")


def test_br_05_a_split_write_is_charged_by_lifetime_and_an_unsplit_one_is_an_interval() -> None:
    split = total("claude-opus-4.8", anthropic(m5=600_000, h1=400_000))
    unsplit = price(
        "claude-opus-4.8", {"input_tokens": 0, "cache_creation_input_tokens": 1_000_000}
    )

    assert split == mtok(("6.25", 600_000), ("10", 400_000)) == Decimal("7.75")
    assert to_decimal(unsplit.charge.total) == to_decimal(unsplit.low) == Decimal("6.25")
    assert unsplit.high is not None
    assert to_decimal(unsplit.high) == Decimal("10")
    assert any("lifetime of 1000000 written tokens is not known" in n for n in unsplit.notes)


def test_br_08_a_gemini_prompt_contains_its_cached_tokens() -> None:
    raw = {
        "promptTokenCount": 20_212, "cachedContentTokenCount": 16_298,
        "candidatesTokenCount": 931, "totalTokenCount": 21_143,
    }  # fmt: skip
    result = price("gemini-3-flash-preview", raw)

    assert result.reading.usage.fresh == 3_914
    assert to_decimal(result.charge.total) == mtok(("0.5", 3_914), ("0.05", 16_298), ("3", 931))
    assert round(to_decimal(result.charge.total), 6) == Decimal("0.005565")


def test_br_10_an_openrouter_prompt_contains_its_cached_tokens() -> None:
    usage = read_usage("openrouter", chat(17_903, 17_817, 1)).usage

    assert (usage.fresh, usage.cache_read, usage.prompt_tokens) == (86, 17_817, 17_903)


def test_br_11_the_input_tokens_of_a_span_already_contain_the_cache() -> None:
    usage = read_usage(
        "otel",
        {
            "gen_ai.usage.input_tokens": 130_213,
            "gen_ai.usage.cache_read.input_tokens": 128_955,
            "gen_ai.usage.cache_creation.input_tokens": 1_253,
        },
    ).usage

    assert (usage.prompt_tokens, usage.fresh) == (130_213, 5)


@pytest.mark.parametrize(
    ("numbers", "fresh"),
    [
        pytest.param((117_231, 115_584, 225, 0, 117_456), 1_647, id="BR-12"),
        pytest.param((1_000, 500, 200, 50, 1_200), 500, id="BR-14"),
    ],
)
def test_a_codex_input_contains_its_cached_tokens_and_its_output_the_reasoning(
    numbers: tuple[int, int, int, int, int], fresh: int
) -> None:
    given, cached, out, reasoning, together = numbers
    raw = {
        "input_tokens": given, "cached_input_tokens": cached, "output_tokens": out,
        "reasoning_output_tokens": reasoning, "total_tokens": together,
    }  # fmt: skip
    reading = read_usage("codex", raw)

    assert reading.usage == Usage(fresh=fresh, cache_read=cached, output=out)
    assert reading.usage.prompt_tokens + reading.usage.output == together


def test_br_15_reads_and_writes_are_both_taken_out_of_an_inclusive_prompt() -> None:
    result = price("claude-sonnet-4.5", chat(2_000, 500, 0, written=300), api="openai-chat")

    assert result.reading.usage.fresh == 1_200
    expected = mtok(("3", 1_200), ("0.3", 500), ("3.75", 300))
    assert to_decimal(result.charge.total) == expected == Decimal("0.004875")


def test_br_17_a_cached_part_larger_than_the_input_is_additive_and_nothing_is_clamped() -> None:
    raw = {"input_tokens": 19, "output_tokens": 0, "input_token_details": {"cache_read": 39_000}}
    result = price("claude-sonnet-4.5", raw, api="langchain")

    assert result.reading.usage == Usage(fresh=19, cache_read=39_000)
    assert result.reading.semantics == "additive"
    assert any("additive" in note for note in result.notes)
    assert to_decimal(result.charge.total) == mtok(("3", 19), ("0.3", 39_000))


def test_br_18_bedrock_converse_is_additive() -> None:
    raw = {"inputTokens": 50, "cacheReadInputTokens": 2_000, "cacheWriteInputTokens": 300}
    reading = read_usage("bedrock-converse", raw)

    assert reading.usage == Usage(fresh=50, cache_read=2_000, cache_write_unknown=300)
    assert reading.semantics == "additive"


def test_br_19_additive_numbers_are_the_same_usage_as_their_inclusive_sum() -> None:
    additive = read_usage("anthropic", anthropic(fresh=5, m5=4_735, out=255)).usage
    inclusive = read_usage(
        "langchain",
        {
            "input_tokens": 4_740, "output_tokens": 255, "total_tokens": 4_995,
            "input_token_details": {"cache_creation": 0, "ephemeral_5m_input_tokens": 4_735},
        },
    ).usage  # fmt: skip

    assert additive.prompt_tokens == inclusive.prompt_tokens == 4_740
    assert additive.cache_write_5m == inclusive.cache_write_5m == 4_735
    assert additive.fresh == 5


def test_br_21_a_deepseek_hit_is_not_charged_at_the_miss_price() -> None:
    raw = {
        "prompt_tokens": 36_100, "completion_tokens": 1_200,
        "prompt_cache_hit_tokens": 21_600, "prompt_cache_miss_tokens": 14_500,
    }  # fmt: skip
    bill = total("deepseek-v4-pro", raw, on="2026-06-01")

    assert bill == mtok(("0.435", 14_500), ("0.003625", 21_600), ("0.87", 1_200))
    assert round(bill, 5) == Decimal("0.00743")


def test_br_22_a_deepseek_miss_is_fresh_and_no_write() -> None:
    usage = read_usage(
        "deepseek",
        {"prompt_tokens": 100, "prompt_cache_hit_tokens": 20, "prompt_cache_miss_tokens": 80},
    ).usage

    assert usage == Usage(fresh=80, cache_read=20)


def test_br_23_deepseek_fresh_is_the_prompt_less_its_hits() -> None:
    usage = read_usage("deepseek", {"prompt_tokens": 5_000, "prompt_cache_hit_tokens": 4_000}).usage

    assert usage == Usage(fresh=1_000, cache_read=4_000)


@pytest.mark.parametrize(
    ("details", "hit"), [(None, 900), ({"cached_tokens": 800}, 800), ({}, 900)]
)
def test_br_24_deepseeks_own_field_is_read_and_never_added_to_the_nested_one(
    details: dict[str, int] | None, hit: int
) -> None:
    reading = read_usage(
        "deepseek",
        {
            "prompt_tokens": 1_000, "completion_tokens": 1, "prompt_cache_hit_tokens": 900,
            "prompt_cache_miss_tokens": 100, "prompt_tokens_details": details,
        },
    )  # fmt: skip

    assert reading.usage == Usage(fresh=1_000 - hit, cache_read=hit, output=1)
    assert reading.unknown == frozenset()


@pytest.mark.parametrize("tokens", [3_207, 18_011])  # neither is a multiple of 128
def test_br_26_writes_of_gpt_5_6_are_charged_exactly(tokens: int) -> None:
    first = total("gpt-5.6-sol", chat(tokens, 0, 0, written=tokens), on="2026-08-01")
    second = total("gpt-5.6-sol", chat(tokens, tokens, 0), on="2026-08-01")

    assert first == mtok(("6.25", tokens))
    assert second == mtok(("0.5", tokens))


def test_br_27_cached_written_and_neither_are_three_slices_of_the_input() -> None:
    usage = read_usage("openai-responses", {
        "input_tokens": 2_600, "output_tokens": 1, "total_tokens": 2_601,
        "input_tokens_details": {"cached_tokens": 2_000, "cache_write_tokens": 400},
    }).usage  # fmt: skip

    assert usage == Usage(fresh=200, cache_read=2_000, cache_write_30m=400, output=1)


def test_br_29_iterations_are_billed_together_and_tested_for_the_tier_apart() -> None:
    raw = {
        "input_tokens": 23_000, "output_tokens": 1_000,
        "iterations": [
            {"type": "compaction", "input_tokens": 180_000, "output_tokens": 3_500},
            {"type": "message", "input_tokens": 23_000, "output_tokens": 1_000},
        ],
    }  # fmt: skip
    result = price("claude-sonnet-4.5", raw)

    assert result.reading.usage == Usage(fresh=203_000, output=4_500)
    expected = mtok(("3", 203_000), ("15", 4_500))  # 203,000 in one prompt would cost 6 and 22.5
    assert to_decimal(result.charge.total) == expected == Decimal("0.6765")


def test_br_29_an_iteration_of_another_model_is_charged_at_that_models_price() -> None:
    raw = {
        "input_tokens": 10, "output_tokens": 1,
        "iterations": [
            {"type": "message", "input_tokens": 1_000, "output_tokens": 0},
            {"type": "advisor_message", "model": "claude-opus-5-20260801", "input_tokens": 1_000,
             "output_tokens": 0, "cache_read_input_tokens": 2_000},
        ],
    }  # fmt: skip

    assert total("claude-sonnet-5", raw) == mtok(("2", 1_000), ("5", 1_000), ("0.5", 2_000))


def test_br_33_claude_opus_5_5_is_not_opus_5_and_reads_at_a_twentieth() -> None:
    result = price("claude-opus-5-5", anthropic(fresh=17_250, read=100_000))

    assert result.ref.model == "claude-opus-5.5"
    # 17,250 + 0.05 * 100,000 = 22,250 input tokens' worth, not 27,250
    assert to_decimal(result.charge.total) == mtok(("4", 22_250))


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        pytest.param(anthropic(fresh=300_000), mtok(("6", 300_000)), id="BR-35a"),
        pytest.param(
            anthropic(fresh=150_000, read=100_000), mtok(("6", 150_000), ("0.6", 100_000)),
            id="BR-35b",
        ),
        pytest.param(anthropic(fresh=200_000), mtok(("3", 200_000)), id="BR-35c"),
        pytest.param(
            anthropic(fresh=200_000, read=1), mtok(("6", 200_000), ("0.6", 1)), id="BR-35c+1"
        ),
    ],
)  # fmt: skip
def test_the_whole_request_moves_when_its_whole_prompt_passes_the_threshold(
    raw: dict[str, Any], expected: Decimal
) -> None:
    assert total("claude-sonnet-4.5", raw) == expected


@pytest.mark.parametrize(
    ("model", "prompt", "fresh", "read"),
    [
        pytest.param("grok-4.6", 200_000, "4", "1", id="BR-36-xai-at"),
        pytest.param("grok-4.6", 199_999, "2", "0.5", id="BR-36-xai-below"),
        pytest.param("gemini-2.5-pro", 200_000, "1.25", "0.125", id="BR-36-google-at"),
        pytest.param("gemini-2.5-pro", 200_001, "2.5", "0.25", id="BR-36-google-above"),
        pytest.param("gpt-6-sol", 272_000, "2", "0.2", id="BR-36-openai-at"),
        pytest.param("gpt-6-sol", 272_001, "4", "0.4", id="BR-36-openai-above"),
    ],
)
def test_the_comparison_with_the_threshold_is_the_providers(
    model: str, prompt: int, fresh: str, read: str
) -> None:
    bill = total(model, chat(prompt, 100_000, 0), api="openai-chat")

    assert bill == mtok((fresh, prompt - 100_000), (read, 100_000))


def test_br_38_the_batch_factor_applies_to_every_class() -> None:
    million = 1_000_000
    flat = anthropic(fresh=million, read=million, m5=million, out=million)

    assert total("claude-opus-5", flat, tier="batch") == Decimal("18.375")
    assert total("claude-opus-5", anthropic(h1=million), tier="batch") == Decimal("5")


def test_br_40_storage_is_charged_for_the_actual_lifetime() -> None:
    prices = ClassPrices(storage=4_500_000)

    quarter = storage_charge(1_000_000, HOUR_US // 4, prices)
    half = storage_charge(1_000_000, HOUR_US // 2, prices)
    assert to_decimal(quarter) == Decimal("4.5") / 4
    assert to_decimal(half) == Decimal("4.5") / 2


def test_br_41_a_stream_repeats_its_counts_and_nothing_is_added() -> None:
    start = {**anthropic(fresh=3, read=500, m5=40), "output_tokens": 1}
    delta = {
        "input_tokens": 3, "cache_read_input_tokens": 500, "cache_creation_input_tokens": 40,
        "cache_creation": None, "output_tokens": 77,
    }  # fmt: skip
    usage = read_usage("anthropic", merge_stream([start, delta])).usage

    assert usage == Usage(fresh=3, cache_read=500, cache_write_5m=40, output=77)


@pytest.mark.parametrize(
    ("details", "expected"),
    [
        (
            {"cache_creation": 0, "ephemeral_5m_input_tokens": 100,
             "ephemeral_1h_input_tokens": 50},
            Usage(fresh=850, cache_write_5m=100, cache_write_1h=50),
        ),
        (
            {"cache_creation": 150, "ephemeral_5m_input_tokens": 100,
             "ephemeral_1h_input_tokens": 50},
            Usage(fresh=850, cache_write_5m=100, cache_write_1h=50),
        ),
        ({"cache_creation": 150}, Usage(fresh=850, cache_write_unknown=150)),
    ],
)  # fmt: skip
def test_br_43_an_aggregate_of_zero_yields_to_its_lifetimes_and_is_never_added(
    details: dict[str, int], expected: Usage
) -> None:
    raw = {"input_tokens": 1_000, "output_tokens": 0, "input_token_details": details}

    assert read_usage("langchain", raw).usage == expected


def test_br_43_anthropics_own_aggregate_of_zero_yields_to_its_split_too() -> None:
    raw = {**anthropic(m5=100), "cache_creation_input_tokens": 0}

    assert read_usage("anthropic", raw).usage.cache_write_5m == 100


def test_br_44_a_write_without_lifetime_is_an_interval_and_the_providers_cost_is_shown() -> None:
    converse = price(
        "claude-opus-5", {"inputTokens": 10, "cacheWriteInputTokens": 1_000, "outputTokens": 0}
    )
    router = price("claude-opus-5", {**chat(1_010, 0, 0, written=1_000), "cost": 0.00631})

    for result in (converse, router):
        assert result.low == result.charge.total
        assert result.high is not None
        assert to_decimal(result.low) == mtok(("5", 10), ("6.25", 1_000))
        assert to_decimal(result.high) == mtok(("5", 10), ("10", 1_000))
    assert router.reading.reported_cost == 6_310_000_000
    assert any("own cost is 0.00631 USD" in note for note in router.notes)


def test_br_44_an_unknown_write_count_is_an_interval_over_all_it_can_be() -> None:
    raw = {"prompt_tokens": 1_000, "completion_tokens": 0, "prompt_tokens_details": None}
    result = price("gpt-6-sol", raw)

    assert to_decimal(result.charge.total) == mtok(("2", 1_000))
    assert to_decimal(result.low) == mtok(("0.2", 1_000))  # all read
    assert result.high is not None
    assert to_decimal(result.high) == mtok(("2.5", 1_000))  # all written


def test_br_109_and_known_fault_45_a_saving_is_the_read_discount_less_the_write_premium() -> None:
    result = price("claude-opus-5", anthropic(read=10_000, m5=1_000))

    discount, premium = mtok(("4.5", 10_000)), mtok(("1.25", 1_000))
    assert to_decimal(result.net_saving) == discount - premium


def test_br_111_output_is_never_part_of_a_saving() -> None:
    lean = price("claude-opus-5", anthropic(read=10_000))
    wordy = price("claude-opus-5", anthropic(read=10_000, out=50_000))

    assert lean.net_saving == wordy.net_saving
    assert to_decimal(wordy.charge.output) == mtok(("25", 50_000))


@pytest.mark.parametrize("api", ["openai-chat", "openrouter", "litellm", "kimi", "xai", "qwen"])
def test_known_fault_43_cached_tokens_of_an_inclusive_api_are_billed_once(api: str) -> None:
    usage = read_usage(api, chat(1_000, 900, 10)).usage

    assert usage.prompt_tokens == 1_000
    assert usage.cache_read == 900


def test_known_fault_44_no_write_price_is_borrowed_from_another_lifetime() -> None:
    with pytest.raises(NoPrice, match="no cache_write_1h price"):
        price("qwen3.6-plus", anthropic(h1=100), api="anthropic")


def test_a_contradiction_is_refused_whatever_the_tool_would_like() -> None:
    with pytest.raises(BadInput, match="does not add up"):
        price("gpt-6-sol", {**chat(1_000, 100, 10), "total_tokens": 5_000})
