"""The bug cases that are about token classes alone, each by its id (see test_bug_cases.py)."""

import pytest
from priced import anthropic, chat, mtok, price

from cachecast_pricing.apis.anthropic import merge_stream
from cachecast_pricing.money import to_decimal
from cachecast_pricing.reading import read_usage
from cachecast_pricing.usage import Usage


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


def test_br_27_cached_written_and_neither_are_three_slices_of_the_input() -> None:
    usage = read_usage("openai-responses", {
        "input_tokens": 2_600, "output_tokens": 1, "total_tokens": 2_601,
        "input_tokens_details": {"cached_tokens": 2_000, "cache_write_tokens": 400},
    }).usage  # fmt: skip

    assert usage == Usage(fresh=200, cache_read=2_000, cache_write_30m=400, output=1)


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
