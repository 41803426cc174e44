"""OpenRouter generation records: native counts, the actual charge, and writes that it hides."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from usage_logs import OPENROUTER_PLAIN, Row, as_lines, classes, openrouter

from cachecast_datasets.errors import LogError
from cachecast_datasets.request import Request
from cachecast_datasets.source import Source

ReadText = Callable[[str], tuple[list[Request], Source]]


def test_native_counts_are_billed_and_the_host_is_the_cache(read_text: ReadText) -> None:
    (one, *_), source = read_text(as_lines({"data": openrouter()}, *OPENROUTER_PLAIN))
    assert classes(one) == {"fresh": 400, "cache_read": 600, "output": 50}
    assert (one.prompt_tokens, one.output_tokens) == (1000, 50)  # not the 900 of its tokenizer
    assert (one.platform, one.provider) == ("openrouter:Anthropic", "openrouter")
    assert one.observed is not None
    assert (one.observed.cost, one.observed.cost_kind) == (Decimal("0.00213"), "provider")
    assert (one.observed.output_reasoning, one.status, one.attempt) == (10, "ok", 1)
    assert (one.request_id, one.response_id, one.region) == ("gen-1", "msg_1", None)
    assert (one.first_token_s, one.end_s, one.arrival_uncertainty_s) == (1.5, 4.0, 4.0)
    assert source.notes == [
        "cache writes of 1 records (0 tokens) are inferred from OpenRouter's charge and "
        "cache_discount"
    ]


def test_br_91_another_host_is_another_cache(read_text: ReadText) -> None:
    hosts = ["Anthropic", "Amazon Bedrock", "Google"]
    rows = [openrouter(f"g{n}", provider_name=host) for n, host in enumerate(hosts)]
    assert [one.platform for one in read_text(as_lines(*rows))[0]] == [
        f"openrouter:{host}" for host in hosts
    ]


def cached(prompt: int, read: int, discount: float, **more: Any) -> Row:
    """A record of 50 output tokens that costs what it would without a cache, less `discount`."""
    cost = round(prompt * 3e-6 + 50 * 1.5e-5 - discount, 12)
    return openrouter(
        native_tokens_prompt=prompt, native_tokens_cached=read, cache_discount=discount,
        total_cost=cost, usage=cost, **more,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("prompt", "read", "discount", "expected"),
    [
        # a first write: 901 x 0.75e-6 more; an hour's write would be 225.25 tokens
        (1000, 0, -0.00067575, {"fresh": 99, "cache_write_5m": 901}),
        # for an hour: 901 x 3e-6 more; for 5 minutes it would be 3,604 of 1,000 tokens
        (1000, 0, -0.002703, {"fresh": 99, "cache_write_1h": 901}),
        # read and written: 600 x 2.7e-6 - 301 x 0.75e-6
        (1000, 600, 0.00139425, {"fresh": 99, "cache_read": 600, "cache_write_5m": 301}),
        # only read: 600 x 2.7e-6
        (1000, 600, 0.00162, {"fresh": 400, "cache_read": 600}),
    ],
)
def test_br_44_the_charge_shows_a_write_where_it_has_one_solution(
    read_text: ReadText, prompt: int, read: int, discount: float, expected: Row
) -> None:
    (one, *_), source = read_text(as_lines(cached(prompt, read, discount), *OPENROUTER_PLAIN))
    assert classes(one) == expected | {"output": 50}
    assert "inferred from OpenRouter's charge" in source.notes[0]


def test_two_solutions_leave_the_write_unknown(read_text: ReadText) -> None:
    """800 tokens for 5 minutes cost what 200 for an hour do."""
    (one, *_), source = read_text(as_lines(cached(1000, 0, -0.0006), *OPENROUTER_PLAIN))
    assert one.observed is not None
    assert (one.observed.fresh, one.observed.cache_write_unknown) == (None, None)
    assert (one.observed.cache_read, one.prompt_tokens) == (0, 1000)
    assert source.notes == [
        "cache writes of 1 records are unknown: their charge has no single solution"
    ]


def test_without_the_prices_nothing_is_inferred(read_text: ReadText) -> None:
    """One record alone is one equation for two prices."""
    (one,), source = read_text(as_lines(cached(1000, 0, -0.00067575)))
    assert one.observed is not None
    assert one.observed.fresh is None
    assert "no single solution" in source.notes[0]


def test_records_of_two_prices_show_none(read_text: ReadText) -> None:
    """A price that changed inside the log: the equations contradict each other."""
    dear = OPENROUTER_PLAIN[1] | {"id": "p3", "total_cost": 0.0009, "usage": 0.0009}
    (one, *_), _ = read_text(as_lines(cached(1000, 0, -0.00067575), *OPENROUTER_PLAIN, dear))
    assert one.observed is not None
    assert one.observed.fresh is None


def test_a_stated_write_is_taken_as_it_is(read_text: ReadText) -> None:
    (one,), source = read_text(as_lines(openrouter(native_tokens_cache_write=300)))
    assert classes(one) == {
        "fresh": 100, "cache_read": 600, "cache_write_unknown": 300, "output": 50,
    }  # fmt: skip
    assert source.notes == []


def test_another_maker_s_model_has_no_class_of_writes(read_text: ReadText) -> None:
    (one,), source = read_text(as_lines(openrouter(model="deepseek/deepseek-v4")))
    assert classes(one) == {"fresh": 400, "cache_read": 600, "output": 50}
    assert source.notes == []


def test_old_records_have_other_names(read_text: ReadText) -> None:
    old = cached(1000, 600, 0.00162)
    old["usage_cache"] = -old.pop("cache_discount")
    del old["total_cost"], old["data_region"], old["provider_responses"]
    (one, *_), _ = read_text(as_lines(old, *OPENROUTER_PLAIN))
    assert classes(one) == {"fresh": 400, "cache_read": 600, "output": 50}


def test_a_cancelled_generation_is_aborted(read_text: ReadText) -> None:
    (one,), _ = read_text(as_lines(openrouter(cancelled=True, data_region="eu")))
    assert (one.status, one.region) == ("aborted", "eu")


def test_the_cost_of_a_key_of_one_s_own_is_an_estimate(read_text: ReadText) -> None:
    row = openrouter(is_byok=True, total_cost=0.0001, upstream_inference_cost=0.00213)
    (one,), _ = read_text(as_lines(row))
    assert one.observed is not None
    assert (one.observed.cost, one.observed.cost_kind) == (Decimal("0.00213"), "estimate")


def test_an_answer_from_openrouter_s_response_cache_has_zero_usage_and_no_hit(
    read_text: ReadText,
) -> None:
    nothing: Row = dict.fromkeys(
        ("native_tokens_prompt", "native_tokens_completion", "native_tokens_cached",
         "native_tokens_reasoning", "total_cost", "usage", "cache_discount"), 0,
    )  # fmt: skip
    (one,), _ = read_text(as_lines(openrouter(**nothing)))
    assert classes(one) == {}
    assert (one.prompt_tokens, one.output_tokens) == (0, 0)
    assert one.observed is not None
    assert (one.observed.cache_read, one.observed.cost) == (0, Decimal(0))


def test_without_native_counts_the_classes_are_unknown(read_text: ReadText) -> None:
    row = openrouter(native_tokens_prompt=None, native_tokens_completion=None)
    (one,), source = read_text(as_lines(row))
    assert one.prompt_tokens is None
    assert one.observed is not None
    assert one.observed.fresh is None
    assert source.notes == ["1 records have no native token counts: their classes are unknown"]


def test_more_cached_than_prompt_is_additive_and_named(read_text: ReadText) -> None:
    (one,), source = read_text(as_lines(openrouter(native_tokens_cached=2000, model="x-ai/grok")))
    assert classes(one) == {"fresh": 1000, "cache_read": 2000, "output": 50}
    assert source.notes == [
        "1 records have a prompt smaller than its cached part: they are read as additive"
    ]


def test_a_null_read_is_unknown(read_text: ReadText) -> None:
    (one,), _ = read_text(as_lines(openrouter(native_tokens_cached=None)))
    assert one.observed is not None
    assert (one.observed.fresh, one.observed.cache_read, one.prompt_tokens) == (None, None, 1000)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"created_at": "today"}, 'created_at is "today", expected a date and time'),
        ({"total_cost": -1}, "total_cost is -1.000000000000, expected >= 0"),
        ({"native_tokens_reasoning": 51}, "reasoning is 51, expected at most the 50 output tokens"),
        ({"id": None}, "id is missing, expected the generation's id"),
    ],
)
def test_a_fault_is_named_with_its_line(read_text: ReadText, more: Row, message: str) -> None:
    with pytest.raises(LogError) as caught:
        read_text(as_lines(openrouter("a"), openrouter("b") | more))
    assert f" line 2: {message}" in str(caught.value)
