"""Mistakes that other tools made with usage and money, each by its id: none may happen here.

Group 1 and 5 of the bug cases (public issue threads, read 2026-11-29) and section E of the known
faults. Expected bills are written as arithmetic on list prices per million tokens.

Not here, because they are about something else:
- BR-31 (the usage of a separate compact call was never added) is about reading logs: see
  tests/datasets/test_provider_json_openai.py and test_har.py.
- BR-107 (hit rate over all rows) is a total of `cachecast bill`: tests/app/test_bill.py.
- BR-112 (is tool_choice in the key?) is a cache rule: test_rules_marked_settings.py.
- known fault 41 asks vLLM for cache accounting, 42 describes TTL pins of servers: they state no
  usage and no price.
"""

from decimal import Decimal
from typing import Any

import pytest
from priced import HOUR_US, anthropic, chat, mtok, price, total

from cachecast_datasets.errors import BadInput
from cachecast_pricing.charge import NoPrice, storage_charge
from cachecast_pricing.money import to_decimal
from cachecast_pricing.rates import ClassPrices
from cachecast_pricing.usage import Usage


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


def test_br_15_reads_and_writes_are_both_taken_out_of_an_inclusive_prompt() -> None:
    result = price("claude-sonnet-4.5", chat(2_000, 500, 0, written=300), api="openai-chat")

    assert result.reading.usage.fresh == 1_200
    expected = mtok(("3", 1_200), ("0.3", 500), ("3.75", 300))
    assert to_decimal(result.charge.total) == expected == Decimal("0.004875")


def test_br_21_a_deepseek_hit_is_not_charged_at_the_miss_price() -> None:
    raw = {
        "prompt_tokens": 36_100, "completion_tokens": 1_200,
        "prompt_cache_hit_tokens": 21_600, "prompt_cache_miss_tokens": 14_500,
    }  # fmt: skip
    bill = total("deepseek-v4-pro", raw, on="2026-06-01")

    assert bill == mtok(("0.435", 14_500), ("0.003625", 21_600), ("0.87", 1_200))
    assert round(bill, 5) == Decimal("0.00743")


@pytest.mark.parametrize("tokens", [3_207, 18_011])  # neither is a multiple of 128
def test_br_26_writes_of_gpt_5_6_are_charged_exactly(tokens: int) -> None:
    first = total("gpt-5.6-sol", chat(tokens, 0, 0, written=tokens), on="2026-08-01")
    second = total("gpt-5.6-sol", chat(tokens, tokens, 0), on="2026-08-01")

    assert first == mtok(("6.25", tokens))
    assert second == mtok(("0.5", tokens))


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


def test_known_fault_44_no_write_price_is_borrowed_from_another_lifetime() -> None:
    with pytest.raises(NoPrice, match="no cache_write_1h price"):
        price("qwen3.6-plus", anthropic(h1=100), api="anthropic")


def test_a_contradiction_is_refused_whatever_the_tool_would_like() -> None:
    with pytest.raises(BadInput, match="does not add up"):
        price("gpt-6-sol", {**chat(1_000, 100, 10), "total_tokens": 5_000})
