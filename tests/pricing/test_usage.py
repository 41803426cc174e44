"""Every API's own usage object becomes the same disjoint classes, by its own convention."""

from typing import Any

import pytest
from priced import chat

from cachecast_datasets.errors import BadInput
from cachecast_pricing.reading import UsageReading, detect_api, read_usage
from cachecast_pricing.usage import Usage


def read(api: str, **raw: Any) -> UsageReading:
    return read_usage(api, raw)


def test_anthropic_counts_stand_beside_each_other() -> None:
    reading = read(
        "anthropic", input_tokens=10, cache_read_input_tokens=200, output_tokens=7,
        cache_creation_input_tokens=30,
        cache_creation={"ephemeral_5m_input_tokens": 10, "ephemeral_1h_input_tokens": 20},
        output_tokens_details={"thinking_tokens": 5},
    )  # fmt: skip

    assert reading.usage == Usage(
        fresh=10, cache_read=200, cache_write_5m=10, cache_write_1h=20, output=7
    )
    assert reading.semantics == "additive"
    assert reading.output_reasoning == 5
    assert reading.unknown == frozenset()


@pytest.mark.parametrize(
    ("split", "expected"),
    [
        ({}, Usage(cache_write_unknown=30)),
        ({"cache_creation": None}, Usage(cache_write_unknown=30)),
        ({"cache_creation": {"ephemeral_1h_input_tokens": 30}}, Usage(cache_write_1h=30)),
        ({"ephemeral_5m_input_tokens": 30}, Usage(cache_write_5m=30)),
        (
            {"cache_creation": {"ephemeral_5m_input_tokens": None,
                                "ephemeral_1h_input_tokens": 20}},
            Usage(cache_write_5m=10, cache_write_1h=20),
        ),
    ],
)  # fmt: skip
def test_a_write_without_its_split_has_an_unknown_lifetime(
    split: dict[str, Any], expected: Usage
) -> None:
    raw = {"input_tokens": 0, "cache_creation_input_tokens": 30, **split}

    assert read_usage("anthropic", raw).usage == expected


def test_the_usage_of_a_fast_batch_or_us_only_request_says_so() -> None:
    assert read("anthropic", input_tokens=1, speed="fast").service_tier == "fast"
    assert read("anthropic", input_tokens=1, service_tier="batch").service_tier == "batch"
    assert read("anthropic", input_tokens=1, service_tier="standard").service_tier is None
    assert read("anthropic", input_tokens=1, inference_geo="us").regional


def test_openai_chat_and_responses_contain_reads_writes_and_reasoning() -> None:
    expected = Usage(fresh=100, cache_read=800, cache_write_30m=100, output=50)
    responses = read(
        "openai-responses", input_tokens=1000, output_tokens=50, total_tokens=1050,
        input_tokens_details={"cached_tokens": 800, "cache_write_tokens": 100},
        output_tokens_details={"reasoning_tokens": 40},
    )  # fmt: skip

    assert read_usage("openai-chat", chat(1000, 800, 50, written=100)).usage == expected
    assert responses.usage == expected
    assert responses.output_reasoning == 40
    assert responses.semantics == "inclusive"


def test_gemini_thoughts_add_to_the_output_and_tool_use_to_the_prompt() -> None:
    reading = read(
        "gemini", promptTokenCount=1000, cachedContentTokenCount=600, candidatesTokenCount=30,
        thoughtsTokenCount=70, toolUsePromptTokenCount=200, totalTokenCount=1300,
    )  # fmt: skip

    assert reading.usage == Usage(fresh=600, cache_read=600, output=100)
    assert reading.usage.prompt_tokens == 1200
    assert reading.output_reasoning == 70


def test_xai_reasoning_is_additional_to_the_completion() -> None:
    raw = {
        "prompt_tokens": 37, "completion_tokens": 530, "total_tokens": 800,
        "completion_tokens_details": {"reasoning_tokens": 233}, "cost_in_usd_ticks": 15_000,
    }  # fmt: skip
    reading = read_usage("xai", raw)

    assert reading.usage == Usage(fresh=37, output=530 + 233)
    assert reading.reported_cost == 15_000 * 100  # 1e10 ticks are 1e12 picounits


def test_xai_reasoning_stays_inside_where_the_total_says_so() -> None:
    reading = read(
        "xai", prompt_tokens=37, completion_tokens=530, total_tokens=567,
        completion_tokens_details={"reasoning_tokens": 233},
    )  # fmt: skip

    assert reading.usage.output == 530
    assert reading.notes


def test_qwen_has_both_inside_and_its_writes_live_five_minutes() -> None:
    reading = read(
        "qwen", prompt_tokens=1500, completion_tokens=5,
        prompt_tokens_details={"cached_tokens": 1200, "cache_creation_input_tokens": 300},
    )  # fmt: skip

    assert reading.usage == Usage(cache_read=1200, cache_write_5m=300, output=5)


def test_cached_tokens_on_top_are_read_and_not_added_to_the_nested_ones() -> None:
    nested = {"cached_tokens": 60}

    assert read("kimi", prompt_tokens=100, cached_tokens=50).usage.cache_read == 50
    both = read("kimi", prompt_tokens=100, cached_tokens=50, prompt_tokens_details=nested)
    assert both.usage.cache_read == 60


def test_bedrock_converse_tells_lifetimes_in_its_details_only() -> None:
    raw = {"inputTokens": 5, "cacheReadInputTokens": 20, "cacheWriteInputTokens": 30}
    split = [{"ttl": "5m", "inputTokens": 10}, {"ttl": "1h", "inputTokens": 20}]

    assert read_usage("bedrock-converse", raw).usage.cache_write_unknown == 30
    told = read_usage("bedrock-converse", {**raw, "cacheDetails": split}).usage
    assert (told.cache_write_5m, told.cache_write_1h) == (10, 20)
    with pytest.raises(BadInput, match="is 30, but cacheDetails say 10"):
        read_usage("bedrock-converse", {**raw, "cacheDetails": split[:1]})


def test_openrouter_states_its_own_cost_and_no_lifetime() -> None:
    reading = read_usage("openrouter", {**chat(1000, 800, 50, written=100), "cost": 0.0123})

    assert reading.usage.cache_write_unknown == 100
    assert reading.reported_cost == 12_300_000_000
    assert reading.reported_currency == "USD"


def test_otel_is_inclusive_and_reads_integers_that_are_strings() -> None:
    reading = read_usage(
        "otel",
        {
            "gen_ai.usage.input_tokens": "130213",
            "gen_ai.usage.cache_read.input_tokens": "128955",
            "gen_ai.usage.cache_creation.input_tokens": "1253",
            "gen_ai.usage.output_tokens": "9",
        },
    )

    assert reading.usage == Usage(fresh=5, cache_read=128_955, cache_write_unknown=1_253, output=9)
    assert reading.semantics == "inclusive"


def test_otel_numbers_of_older_code_are_additive_where_they_cannot_be_anything_else() -> None:
    reading = read_usage(
        "otel", {"gen_ai.usage.input_tokens": 5, "gen_ai.usage.cache_read_input_tokens": 100}
    )

    assert reading.usage == Usage(fresh=5, cache_read=100)
    assert reading.semantics == "additive"
    assert reading.notes


def test_langfuse_buckets_are_disjoint_and_reasoning_is_a_bucket() -> None:
    reading = read(
        "langfuse", input=10, input_cached_tokens=90, output=5, output_reasoning_tokens=20,
        total=125,
    )  # fmt: skip

    assert reading.usage == Usage(fresh=10, cache_read=90, output=25)
    assert reading.semantics == "disjoint"


def test_a_bucket_of_openai_s_usage_api_is_inclusive() -> None:
    raw = {
        "input_tokens": 1_000, "input_cached_tokens": 700, "input_cache_write_tokens": 200,
        "input_uncached_tokens": 100, "output_tokens": 9, "num_model_requests": 3,
    }  # fmt: skip

    assert detect_api(raw, "openai") == "openai-usage"
    assert read_usage("openai-usage", raw).usage == Usage(
        fresh=100, cache_read=700, cache_write_30m=200, output=9
    )
    with pytest.raises(BadInput, match="input_tokens is 1001, but"):
        read_usage("openai-usage", {**raw, "input_tokens": 1_001})


def test_a_bucket_of_anthropic_s_usage_api_names_its_fresh_tokens_uncached() -> None:
    raw = {"uncached_input_tokens": 7, "cache_read_input_tokens": 3, "output_tokens": 1}

    assert detect_api(raw, None) == "anthropic"
    assert read_usage("anthropic", raw).usage == Usage(fresh=7, cache_read=3, output=1)


@pytest.mark.parametrize(
    ("raw", "written"),
    [({"cache_creation_input_tokens": 1000}, 1000), ({"cache_read_input_tokens": 1000}, 0)],
)
def test_an_object_of_cached_tokens_only_is_anthropic_s_and_the_rest_is_zero(
    raw: dict[str, int], written: int
) -> None:
    reading = read_usage(detect_api(raw), raw)
    assert (reading.usage.prompt_tokens, reading.usage.cache_write) == (1000, written)
