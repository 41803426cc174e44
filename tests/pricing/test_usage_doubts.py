"""What a usage object leaves open, contradicts or cannot mean: said, bounded or refused."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from priced import chat

from cachecast_datasets.errors import BadInput
from cachecast_pricing.reading import APIS, UsageReading, detect_api, read_usage
from cachecast_pricing.usage import Usage


def read(api: str, **raw: Any) -> UsageReading:
    return read_usage(api, raw)


counts = st.integers(min_value=0, max_value=10**6)


def test_a_split_that_contradicts_its_total_is_refused_with_the_numbers() -> None:
    with pytest.raises(BadInput, match=r"is 31, but its split says 10 \(5m\) \+ 20 \(1h\)"):
        read(
            "anthropic", input_tokens=1, cache_creation_input_tokens=31,
            cache_creation={"ephemeral_5m_input_tokens": 10, "ephemeral_1h_input_tokens": 20},
        )  # fmt: skip


def test_a_null_in_gemini_is_nothing_where_the_total_leaves_nothing_for_it() -> None:
    reading = read(
        "gemini", prompt_token_count=10, candidates_token_count=5, thoughts_token_count=None,
        tool_use_prompt_token_count=None, total_token_count=15,
    )  # fmt: skip

    assert reading.usage == Usage(fresh=10, output=5)
    assert reading.unknown == frozenset()


def test_a_langfuse_row_with_an_inclusive_input_is_recognised_by_its_total() -> None:
    reading = read("langfuse", input=100, input_cached_tokens=90, output=5, total=105)

    assert reading.usage == Usage(fresh=10, cache_read=90, output=5)
    assert reading.semantics == "inclusive"
    assert reading.notes


def test_a_total_that_only_the_other_convention_reaches_decides() -> None:
    raw = {**chat(100, 80, 10), "total_tokens": 190}  # 100 + 80 + 10
    reading = read_usage("openai-chat", raw)

    assert reading.usage == Usage(fresh=100, cache_read=80, output=10)
    assert reading.semantics == "additive"


def test_a_total_that_no_convention_reaches_is_refused_with_the_numbers() -> None:
    with pytest.raises(BadInput, match="total 500; inclusive means a total of 110 with 20 fresh"):
        read_usage("openai-chat", {**chat(100, 80, 10), "total_tokens": 500})


@pytest.mark.parametrize(
    ("raw", "unknown"),
    [
        ({"prompt_tokens_details": None}, {"cache_read", "cache_write"}),
        ({"prompt_tokens_details": {"cached_tokens": None}}, {"cache_read"}),
        ({"prompt_tokens_details": {"cached_tokens": 0}}, set()),
        ({"prompt_tokens_details": {}}, set()),
        ({}, set()),
    ],
)
def test_null_is_unknown_and_left_out_is_zero(raw: dict[str, Any], unknown: set[str]) -> None:
    reading = read_usage("openai-chat", {"prompt_tokens": 100, "completion_tokens": 1, **raw})

    assert reading.unknown == unknown
    assert reading.usage.fresh == 100


def test_an_additive_null_is_unknown_too() -> None:
    reading = read("anthropic", input_tokens=5, cache_read_input_tokens=None, output_tokens=None)

    assert reading.unknown == {"cache_read", "output"}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (-3, "is -3, expected >= 0"),
        (1.5, "is 1.5, expected a whole number"),
        (float("nan"), "is nan, expected a whole number"),
        (float("inf"), "is inf, expected a whole number"),
        (True, "is true, expected a whole number"),
        ("many", "is 'many', expected a whole number"),
        ([1], "expected a whole number"),
        (10**16, "expected at most"),
    ],
)
@pytest.mark.parametrize(
    ("api", "field"),
    [
        ("anthropic", "cache_read_input_tokens"),
        ("openai-chat", "prompt_tokens"),
        ("openai-responses", "output_tokens"),
        ("gemini", "cachedContentTokenCount"),
        ("deepseek", "prompt_cache_hit_tokens"),
        ("bedrock-converse", "inputTokens"),
        ("otel", "gen_ai.usage.output_tokens"),
        ("langfuse", "input_cached_tokens"),
    ],
)
def test_what_is_no_token_count_is_refused_with_its_field_and_value(
    api: str, field: str, value: object, message: str
) -> None:
    with pytest.raises(BadInput, match=message) as caught:
        read_usage(api, {field: value})
    assert field in str(caught.value)


def test_details_that_are_no_object_are_refused() -> None:
    with pytest.raises(BadInput, match="prompt_tokens_details is 7, expected an object"):
        read("openai-chat", prompt_tokens=10, prompt_tokens_details=7)


def test_an_unknown_api_is_answered_with_the_known_ones() -> None:
    with pytest.raises(BadInput, match="known: anthropic, openai-chat"):
        read_usage("cohere", {})


@pytest.mark.parametrize(
    ("raw", "provider", "api"),
    [
        ({"input_tokens": 1, "cache_read_input_tokens": 2}, None, "anthropic"),
        ({"input_tokens": 1, "output_tokens": 2}, "anthropic", "anthropic"),
        ({"input_tokens": 1, "output_tokens": 2}, "openai", "openai-responses"),
        ({"input_tokens": 1, "input_tokens_details": {}}, None, "openai-responses"),
        ({"input_tokens": 1, "cached_input_tokens": 1}, "openai", "codex"),
        ({"prompt_tokens": 1}, "openai", "openai-chat"),
        ({"prompt_tokens": 1}, "deepseek", "deepseek"),
        ({"prompt_tokens": 1, "prompt_cache_hit_tokens": 1}, None, "deepseek"),
        ({"prompt_tokens": 1}, "xai", "xai"),
        ({"prompt_tokens": 1}, "alibaba", "qwen"),
        ({"prompt_tokens": 1}, "moonshot", "kimi"),
        ({"prompt_tokens": 1, "cost": 0.1}, "anthropic", "openrouter"),
        ({"prompt_tokens": 1, "cache_read_input_tokens": 1}, "anthropic", "litellm"),
        ({"promptTokenCount": 1}, "google", "gemini"),
        ({"usageMetadata": {"promptTokenCount": 1}}, None, "gemini"),
        ({"inputTokens": 1}, None, "bedrock-converse"),
        ({"gen_ai.usage.input_tokens": 1}, "openai", "otel"),
        ({"llm.token_count.prompt": 1}, None, "otel"),
        ({"input": 1, "output": 2}, None, "langfuse"),
        ({"input": 1, "input_cached_tokens": 2}, "google", "langfuse"),
    ],
)
def test_the_api_is_recognised_by_its_fields_and_the_provider(
    raw: dict[str, Any], provider: str | None, api: str
) -> None:
    assert detect_api(raw, provider) == api
    assert api in APIS


def test_an_object_without_any_known_field_is_refused() -> None:
    with pytest.raises(BadInput, match="none of the known fields, only tokens"):
        detect_api({"tokens": 3})


@given(counts, counts, counts, counts)
def test_inclusive_and_additive_spellings_of_one_request_are_the_same_usage(
    fresh: int, cached: int, written: int, output: int
) -> None:
    prompt = fresh + cached + written
    inclusive = read_usage("openrouter", chat(prompt, cached, output, written=written))
    additive = read(
        "anthropic", input_tokens=fresh, cache_read_input_tokens=cached, output_tokens=output,
        cache_creation_input_tokens=written,
    )  # fmt: skip

    assert inclusive.usage == additive.usage
    assert inclusive.usage.prompt_tokens == prompt


@given(counts, counts, counts, counts)
def test_the_classes_of_an_accepted_object_sum_to_the_prompt_and_none_is_negative(
    prompt: int, cached: int, written: int, output: int
) -> None:
    raw = chat(prompt, cached, output, written=written)
    del raw["total_tokens"]
    reading = read_usage("openai-chat", raw)
    usage = reading.usage

    assert min(usage.as_dict().values()) >= 0
    beside = cached + written if reading.semantics == "additive" else 0
    assert usage.prompt_tokens == prompt + beside
    assert (reading.semantics == "inclusive") == (cached + written <= prompt)


def test_a_cache_field_that_the_api_does_not_know_is_named_and_not_passed_over() -> None:
    reading = read("openai-chat", prompt_tokens=100, cacheReadInputTokens=90)

    assert reading.usage == Usage(fresh=100)
    assert "cacheReadInputTokens: not a field of the API openai-chat" in reading.notes[0]


def test_more_reasoning_than_output_is_a_contradiction_where_it_is_inside() -> None:
    with pytest.raises(BadInput, match="reasoning is 50, more than the 10 output tokens"):
        read(
            "openai-chat", prompt_tokens=1, completion_tokens=10,
            completion_tokens_details={"reasoning_tokens": 50},
        )  # fmt: skip


KEYS = [
    "input_tokens", "output_tokens", "total_tokens", "prompt_tokens", "completion_tokens",
    "cache_read_input_tokens", "cache_creation_input_tokens", "cache_creation", "iterations",
    "ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens", "cached_tokens", "cost",
    "prompt_tokens_details", "input_tokens_details", "input_token_details", "ttl",
    "completion_tokens_details", "output_tokens_details", "reasoning_tokens", "thinking_tokens",
    "promptTokenCount", "cachedContentTokenCount", "candidatesTokenCount", "thoughtsTokenCount",
    "toolUsePromptTokenCount", "totalTokenCount", "usageMetadata", "prompt_cache_hit_tokens",
    "prompt_cache_miss_tokens", "inputTokens", "cacheReadInputTokens", "cacheWriteInputTokens",
    "cacheDetails", "input", "output", "total", "input_cached_tokens", "input_cache_creation",
    "gen_ai.usage.input_tokens", "gen_ai.usage.cache_read.input_tokens", "speed", "service_tier",
    "input_uncached_tokens", "num_model_requests", "cost_in_usd_ticks", "cache_write_tokens",
]  # fmt: skip
scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-5, 200), st.floats(), st.sampled_from(["7", "x", "5m"])
)
wild = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(KEYS), inner),
    max_leaves=8,
)


@given(st.sampled_from(sorted(APIS)), st.dictionaries(st.sampled_from(KEYS), wild, max_size=8))
def test_any_object_is_either_read_with_classes_that_are_counts_or_refused_in_a_sentence(
    api: str, raw: dict[str, Any]
) -> None:
    try:
        reading = read_usage(api, raw)
    except BadInput:
        return
    assert all(type(count) is int and count >= 0 for count in reading.usage.as_dict().values())
