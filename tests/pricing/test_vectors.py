"""The vectors of the provider rules that state a usage or a price, each by its id.

Sources: the providers' own documentation as of 2026-08 to 2026-11, unless a test says otherwise.
Vectors that state prompts and cache hits are tests of the cache rules; XAI-02 and GEM's implicit
behaviour state hits without a usage object.
"""

from decimal import Decimal
from typing import Any

import pytest
from priced import HOUR_US, card, mtok, price

from cachecast_pricing.charge import charge, storage_charge
from cachecast_pricing.money import to_decimal
from cachecast_pricing.rates import ClassPrices
from cachecast_pricing.reading import read_usage
from cachecast_pricing.usage import Usage


def prices(model: str) -> ClassPrices:
    """The standard prices of a short prompt on the newest day."""
    return card(model).prices(1)


ANT_08 = {
    "input_tokens": 2048, "cache_read_input_tokens": 1800, "cache_creation_input_tokens": 248,
    "cache_creation": {"ephemeral_5m_input_tokens": 148, "ephemeral_1h_input_tokens": 100},
    "output_tokens": 503,
}  # fmt: skip


@pytest.mark.parametrize(
    ("api", "raw", "prompt"),
    [
        pytest.param("anthropic", ANT_08, 4096, id="ANT-08"),
        pytest.param(
            "anthropic",
            {"input_tokens": 50, "cache_read_input_tokens": 100000,
             "cache_creation_input_tokens": 0},
            100050, id="ANT-09",
        ),
        pytest.param(
            "anthropic",
            {"input_tokens": 50, "cache_read_input_tokens": 200000,
             "cache_creation_input_tokens": 0},
            200050, id="ANT-10",
        ),
        pytest.param(
            "anthropic",
            {"input_tokens": 8, "cache_creation_input_tokens": 5120,
             "ephemeral_5m_input_tokens": 5120, "ephemeral_1h_input_tokens": 0,
             "cache_read_input_tokens": 0, "output_tokens": 0},
            5128, id="ANT-11",
        ),
        pytest.param(
            "bedrock-converse",
            {"inputTokens": 50, "cacheReadInputTokens": 2000, "cacheWriteInputTokens": 300},
            2350, id="BED-02",
        ),
        pytest.param(
            "gemini",
            {"promptTokenCount": 3, "candidatesTokenCount": 900, "thoughtsTokenCount": 1054,
             "totalTokenCount": 1957},
            3, id="GEM-01",
        ),
        pytest.param(
            "deepseek",
            {"prompt_tokens": 5124, "prompt_cache_hit_tokens": 4864,
             "prompt_cache_miss_tokens": 260},
            5124, id="DS-04",
        ),
    ],
)  # fmt: skip
def test_the_prompt_of_a_documented_usage(api: str, raw: dict[str, Any], prompt: int) -> None:
    assert read_usage(api, raw).usage.prompt_tokens == prompt


def nested(prompt: int, cached: int, output: int = 0, total: int | None = None) -> dict[str, Any]:
    raw: dict[str, Any] = {
        "prompt_tokens": prompt, "completion_tokens": output,
        "prompt_tokens_details": {"cached_tokens": cached, "cache_write_tokens": 0},
    }  # fmt: skip
    return raw if total is None else {**raw, "total_tokens": total}


@pytest.mark.parametrize(
    ("api", "raw", "fresh"),
    [
        pytest.param("openai-chat", nested(2006, 1920, 300, 2306), 86, id="OAI-04"),
        pytest.param(
            "openai-responses",
            {"input_tokens": 2048, "cached_tokens": 1920, "cache_write_tokens": 0,
             "output_tokens": 256, "total_tokens": 2304},
            128, id="BED-01",
        ),
        pytest.param("xai", nested(125, 98, 48), 27, id="XAI-01"),
        pytest.param("qwen", nested(3019, 2048, 104), 971, id="QW-04"),
        pytest.param("mistral", nested(1013, 1008, 30), 5, id="MIS-01"),
        pytest.param(
            "together", {"prompt_tokens": 3417, "cached_tokens": 21}, 3396, id="TOG-01-first"
        ),
        pytest.param(
            "together", {"prompt_tokens": 3417, "cached_tokens": 3327}, 90, id="TOG-01-second"
        ),
        pytest.param("openrouter", nested(10339, 10318, 60, 10399), 21, id="OR-01"),
    ],
)  # fmt: skip
def test_the_fresh_tokens_of_a_documented_inclusive_usage(
    api: str, raw: dict[str, Any], fresh: int
) -> None:
    reading = read_usage(api, raw)

    assert reading.usage.fresh == fresh
    assert reading.semantics == "inclusive"


def test_ant_21_the_documented_usage_at_opus_5_prices() -> None:
    bill = price("claude-opus-5", ANT_08).charge

    expected = mtok(("5", 2048), ("0.5", 1800), ("6.25", 148), ("10", 100), ("25", 503))
    assert to_decimal(bill.total) == expected == Decimal("0.02564")


def test_ant_22_a_write_pays_after_one_read_of_five_minutes_and_two_of_an_hour() -> None:
    opus = prices("claude-opus-5")
    one_pass = charge(Usage(fresh=100), opus).total

    assert charge(Usage(cache_write_5m=100, cache_read=100), opus).total * 100 == 135 * one_pass
    assert charge(Usage(cache_write_1h=100, cache_read=200), opus).total * 100 == 220 * one_pass


@pytest.mark.parametrize(("percent", "dollars"), [(0, "11.20"), (90, "1.62"), (96, "0.99")])
def test_ant_24_forty_turns_of_opus_5_5_at_three_read_shares(percent: int, dollars: str) -> None:
    prompt = 2_800_000
    read = prompt * percent // 100
    bill = charge(Usage(fresh=prompt - read, cache_read=read), prices("claude-opus-5.5"))

    assert round(to_decimal(bill.total), 2) == Decimal(dollars)


def test_ant_26_a_hundred_thousand_reads_of_haiku_5_5_are_still_at_the_base_price() -> None:
    raw = {"input_tokens": 0, "cache_read_input_tokens": 100_000, "output_tokens": 0}
    one_more = {**raw, "input_tokens": 1}

    assert to_decimal(price("claude-haiku-5.5", raw).charge.total) == Decimal("0.001")
    expected = mtok(("0.05", 100_000), ("0.5", 1))
    assert to_decimal(price("claude-haiku-5.5", one_more).charge.total) == expected


def test_oai_05_one_write_and_nine_reads_cost_2_15_passes() -> None:
    sol = prices("gpt-6-sol")
    one_pass = charge(Usage(fresh=100), sol).total

    assert charge(Usage(cache_write_30m=100, cache_read=100), sol).total * 100 == 135 * one_pass
    assert charge(Usage(cache_write_30m=100, cache_read=900), sol).total * 100 == 215 * one_pass


def test_oai_20_writing_and_reading_twelve_thousand_tokens_of_gpt_6_sol() -> None:
    details = {"cached_tokens": 0, "cache_write_tokens": 12_000}
    write = {"prompt_tokens": 12_000, "completion_tokens": 0, "prompt_tokens_details": details}

    assert to_decimal(price("gpt-6-sol", write).charge.total) == Decimal("0.03")
    read = price("gpt-6-sol", nested(12_000, 12_000))
    assert to_decimal(read.charge.total) == Decimal("0.0024")


def test_gem_02_an_explicit_cache_costs_its_creation_its_storage_and_its_reads() -> None:
    pro = prices("gemini-3.1-pro-preview")

    create = charge(Usage(fresh=100_000), pro).total
    storage = storage_charge(100_000, HOUR_US, pro)
    reads = 3 * charge(Usage(cache_read=100_000), pro).total
    amounts = [to_decimal(amount) for amount in (create, storage, reads, create + storage + reads)]
    assert amounts == [Decimal("0.2"), Decimal("0.45"), Decimal("0.06"), Decimal("0.71")]


@pytest.mark.parametrize(
    ("model", "reuses"), [("gemini-3.1-pro-preview", "2.50"), ("gemini-3.8-flash", "0.74")]
)
def test_gem_03_reuses_an_hour_at_which_storage_pays(model: str, reuses: str) -> None:
    card = prices(model)
    an_hour = storage_charge(1_000_000, HOUR_US, card)
    plain = charge(Usage(fresh=1_000_000), card).total
    cached = charge(Usage(cache_read=1_000_000), card).total

    assert round(Decimal(an_hour) / (plain - cached), 2) == Decimal(reuses)


def test_ds_06_the_article_s_request_at_its_yuan_prices() -> None:
    raw = {"prompt_tokens": 5124, "prompt_cache_hit_tokens": 4864, "prompt_cache_miss_tokens": 260}
    bill = price("deepseek-v4-flash", raw, on="2026-08-17T12:00:00Z", currency="CNY").charge

    assert bill.currency == "CNY"
    assert to_decimal(bill.total) == mtok(("0.05", 4864), ("1.5", 260)) == Decimal("0.0006332")


@pytest.mark.parametrize(
    ("read", "written", "other", "units"),
    [
        pytest.param(1200, 300, 0, "495", id="QW-01"),
        pytest.param(0, 1605, 13, "2019.25", id="QW-02-create"),
        pytest.param(1605, 0, 15, "175.5", id="QW-02-hit"),
    ],
)
def test_qwen_explicit_costs_in_units_of_an_input_token(
    read: int, written: int, other: int, units: str
) -> None:
    raw = {
        "prompt_tokens": read + written + other, "completion_tokens": 0,
        "prompt_tokens_details": {"cached_tokens": read, "cache_creation_input_tokens": written},
    }  # fmt: skip
    result = price("qwen3.6-plus", raw)

    assert result.reading.usage.cache_write_5m == written
    assert to_decimal(result.charge.total) == Decimal(units) * 2 / 10**6  # 2 per MTok


def test_qw_03_a_created_prefix_is_the_hit_of_the_next_call() -> None:
    hit = read_usage("qwen", nested(2174, 2156)).usage

    assert (hit.cache_read, hit.fresh) == (2156, 18)
