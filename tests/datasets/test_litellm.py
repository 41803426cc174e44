"""LiteLLM SpendLogs: the right convention per row, and what spend gives away."""

from collections.abc import Callable
from decimal import Decimal

import pytest
from usage_logs import LITELLM_PRICES, Row, as_csv, as_lines, classes, litellm

from cachecast_datasets.errors import LogError
from cachecast_datasets.request import Observed, Request
from cachecast_datasets.source import Source

ReadText = Callable[[str], tuple[list[Request], Source]]
Read = Callable[..., tuple[list[Request], Source]]


@pytest.fixture
def read(read_text: ReadText) -> Read:
    """Rows as JSON lines: their requests and the source with its notes."""
    return lambda *rows: read_text(as_lines(*rows))


def test_a_chat_row_is_inclusive_and_written_tokens_have_no_lifetime(read: Read) -> None:
    (one,), _ = read(litellm())
    # 1,000 in = 100 + 600 read + 300 written
    assert classes(one) == {
        "fresh": 100,
        "cache_read": 600,
        "cache_write_unknown": 300,
        "output": 50,
    }
    assert one.observed is not None
    assert one.observed.output_reasoning == 10
    assert (one.observed.cost, one.observed.cost_kind) == (Decimal("0.002355"), "estimate")
    assert (one.first_token_s, one.end_s, one.arrival_us) == (1.5, 4.0, 1_780_308_000_250_000)
    assert (one.model, one.provider, one.platform) == (
        "claude-opus-4-8",
        "anthropic",
        "first-party",
    )
    assert (one.account, one.session_id, one.status, one.attempt) == (
        "88dc28d0f030c55ed4ab77", "s1", "ok", 1,
    )  # fmt: skip


def test_csv_and_json_say_the_same(read: Read, read_text: ReadText) -> None:
    (from_csv,), _ = read_text(as_csv(litellm()))
    (from_json,), _ = read(litellm())
    from_csv.source_line = from_json.source_line
    assert from_csv == from_json


def test_a_split_of_writes_is_kept(read: Read) -> None:
    details = {
        "cached_tokens": 600, "cache_creation_tokens": 300,
        "cache_creation_token_details": {
            "ephemeral_5m_input_tokens": 200, "ephemeral_1h_input_tokens": 100,
        },
    }  # fmt: skip
    (one,), _ = read(litellm(usage={
        "prompt_tokens": 1000, "completion_tokens": 50, "prompt_tokens_details": details,
    }))  # fmt: skip
    assert classes(one) == {
        "fresh": 100, "cache_read": 600, "cache_write_5m": 200, "cache_write_1h": 100, "output": 50,
    }  # fmt: skip


ADDITIVE = {
    "prompt_tokens": 100, "completion_tokens": 50, "total_tokens": 150,
    "cache_read_input_tokens": 600, "cache_creation_input_tokens": 300,
}  # fmt: skip


def test_br_17_an_input_smaller_than_its_cached_part_is_additive_and_never_clamped(
    read: Read,
) -> None:
    usage = {"prompt_tokens": 19, "completion_tokens": 5, "cache_read_input_tokens": 39_000}
    (one,), source = read(litellm(usage=usage))
    assert classes(one) == {"fresh": 19, "cache_read": 39_000, "output": 5}
    assert one.prompt_tokens == 39_019
    assert "read as additive" in source.notes[0]


@pytest.mark.parametrize("call_type", ["acompletion", "anthropic_messages"])
def test_rows_of_both_conventions_stand_in_one_log(read: Read, call_type: str) -> None:
    both, _ = read(litellm("a", call_type=call_type), litellm("b", ADDITIVE, call_type=call_type))
    assert classes(both[0]) == classes(both[1])
    assert both[0].prompt_tokens == both[1].prompt_tokens == 1000


AMBIGUOUS = {
    "prompt_tokens": 5000, "completion_tokens": 50, "cache_read_input_tokens": 600,
    "cache_creation_input_tokens": 300,
}  # fmt: skip


@pytest.mark.parametrize(
    ("more", "fresh", "remark"),
    [
        # 5,000 x 3e-6 + 600 x 3e-7 + 300 x 3.75e-6 + 50 x 1.5e-5
        ({"spend": 0.017055}, 5000, "additive"),
        # 4,100 x 3e-6 + …: the same row, inclusive
        ({"spend": 0.014355}, 4100, None),
        ({"spend": 0.5}, 4100, "fit both"),
    ],
)
def test_the_row_s_own_prices_decide_an_anthropic_row_that_fits_both(
    read: Read, more: Row, fresh: int, remark: str | None
) -> None:
    (one,), source = read(litellm(usage=AMBIGUOUS, call_type="anthropic_messages", **more))
    assert classes(one)["fresh"] == fresh
    assert [remark in note for note in source.notes if remark] == ([True] if remark else [])


def test_text_tokens_decide_too(read: Read) -> None:
    details = {"prompt_tokens_details": {"text_tokens": 5000}}
    (one,), _ = read(litellm(usage=AMBIGUOUS | details, call_type="anthropic_messages"))
    assert classes(one)["fresh"] == 5000


def test_a_usage_that_fits_no_convention_is_an_error_that_shows_the_numbers(read: Read) -> None:
    usage = ADDITIVE | {"prompt_tokens": 1000, "total_tokens": 7}
    with pytest.raises(LogError, match="input 1000, cache read 600, cache written 300") as caught:
        read(litellm(usage=usage))
    assert "total 7" in str(caught.value)


def test_null_details_are_unknown_and_not_zero(read: Read) -> None:
    usage = {"prompt_tokens": 1000, "completion_tokens": 50, "prompt_tokens_details": None}
    (one,), _ = read(litellm(usage=usage, spend=None))
    assert one.prompt_tokens == 1000
    assert one.observed is not None
    assert (one.observed.fresh, one.observed.cache_read, one.observed.output) == (None, None, 50)


def test_a_row_without_a_usage_object_knows_its_size_only(read: Read) -> None:
    (one,), source = read(litellm(metadata={"usage_object": None}))
    assert (one.prompt_tokens, one.output_tokens) == (1000, 50)
    assert one.observed == Observed(
        output=50, cost=Decimal("0.002355"), currency="USD", cost_kind="estimate"
    )
    assert "what was cached is unknown" in source.notes[0]


def test_litellm_s_response_cache_is_no_prompt_cache(read: Read) -> None:
    (one,), source = read(litellm(cache_hit="True", spend=0.0))
    assert classes(one) == {}
    assert (one.prompt_tokens, one.output_tokens, one.status) == (0, 0, "ok")
    assert source.notes == [
        "1 rows were answered by LiteLLM's own response cache: no provider saw them, they stand "
        "with zero usage"
    ]


def test_a_row_that_was_not_streamed_has_no_first_token(read: Read) -> None:
    (one,), _ = read(litellm(completionStartTime="2026-06-01T10:00:04.250Z"))
    assert (one.first_token_s, one.end_s) == (None, 4.0)


def test_a_retry_names_the_failed_row_before_it(read: Read) -> None:
    failed = litellm("a", {}, status="failure", metadata={"usage_object": None})
    (first, second), _ = read(failed, litellm("b", metadata={"attempted_retries": 1}))
    assert (first.status, first.attempt) == ("error", 1)
    assert (second.status, second.attempt, second.retry_of) == ("ok", 2, "a")


MESSAGES = [
    {"role": "system", "content": [
        {"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral", "ttl": "1h"}},
    ]},
    {"role": "user", "content": "Hi?"},
]  # fmt: skip


def test_a_stored_prompt_becomes_blocks_that_add_up_to_the_reported_size(read: Read) -> None:
    (one, plain), source = read(litellm("a", messages=MESSAGES), litellm("b"))
    assert one.blocks is not None
    assert [(b.section, b.marker, b.message) for b in one.blocks] == [
        ("system", "1h", 0), ("user", None, 1),
    ]  # fmt: skip
    assert sum(block.tokens for block in one.blocks) == 1000
    assert plain.blocks is None  # {} is what LiteLLM writes where prompts are not stored
    assert source.meta is not None
    assert (source.meta.evidence, source.meta.carries_markers) == ("text", True)


def test_the_whole_request_body_is_preferred_to_the_messages(read: Read) -> None:
    body = {"messages": MESSAGES, "tools": [{"type": "function", "function": {"name": "f"}}]}
    (one,), _ = read(litellm(messages=MESSAGES, proxy_server_request=body))
    assert [b.section for b in one.blocks or ()] == ["tools", "system", "user"]


def test_a_prompt_that_litellm_cut_is_no_text(read: Read) -> None:
    cut = [{"role": "user", "content": "abc... (litellm_truncated 900 chars) ...xyz"}]
    (one,), source = read(litellm(messages=cut))
    assert one.blocks is None
    assert "cut short" in source.notes[0]


# 2,000 in of which 500 read, 1,000 written for 5 minutes, 100 out:
# 500 x 3e-6 + 500 x 3e-7 + 1,000 x 3.75e-6 + 100 x 1.5e-5 = 0.0069
SILENT = {
    "prompt_tokens": 2000, "completion_tokens": 100, "total_tokens": 2100,
    "prompt_tokens_details": {"cached_tokens": 500},
}  # fmt: skip


def test_hidden_writes_follow_from_spend_and_the_row_s_own_prices(read: Read) -> None:
    prices = {k: v for k, v in LITELLM_PRICES.items() if not k.endswith("1hr")}
    table = {"model_map_information": {"model_map_value": prices}}
    (one,), source = read(litellm(usage=SILENT, spend=0.0069, metadata=table))
    assert classes(one) == {"fresh": 500, "cache_read": 500, "cache_write_5m": 1000, "output": 100}
    assert source.notes == [
        "cache writes of 1 rows (1,000 tokens) are inferred from spend and the prices that the "
        "rows themselves carry"
    ]


def test_the_input_s_own_cost_is_enough(read: Read) -> None:
    prices = {k: v for k, v in LITELLM_PRICES.items() if not k.endswith("1hr")}
    metadata = {
        "model_map_information": {"model_map_value": prices},
        "cost_breakdown": {"input_cost": 0.0054, "output_cost": 0.0015, "total_cost": 0.0069},
    }
    (one,), _ = read(litellm(usage=SILENT, spend=99.0, metadata=metadata))
    assert classes(one)["cache_write_5m"] == 1000


@pytest.mark.parametrize(
    "spend",
    [
        0.0069,  # 1,000 tokens for 5 minutes or 250 for an hour: two solutions
        0.00615,  # nothing is hidden: 1,500 fresh and 500 read
        0.0042,  # less than any split costs
    ],
)
def test_without_one_solution_nothing_is_inferred(read: Read, spend: float) -> None:
    (one,), source = read(litellm(usage=SILENT, spend=spend))
    assert classes(one) == {"fresh": 1500, "cache_read": 500, "output": 100}
    assert source.notes == []


def test_a_read_that_is_hidden_too_leaves_several_solutions(read: Read) -> None:
    usage = {"prompt_tokens": 2000, "completion_tokens": 100}
    (one,), _ = read(litellm(usage=usage, spend=0.0069))
    assert classes(one) == {"fresh": 2000, "output": 100}


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"startTime": None}, "startTime is missing, expected a date and time"),
        ({"startTime": "1.6.2026"}, 'startTime is "1.6.2026", expected a date and time since 1970'),
        ({"request_id": ""}, "request_id is missing, expected a string"),
        ({"spend": "free"}, 'spend is "free", expected a number'),
        ({"metadata": {"usage_object": {"prompt_tokens": -3, "completion_tokens": 1}}},
         "metadata.usage_object.prompt_tokens is -3, expected a whole number of tokens >= 0"),
        ({"metadata": {"usage_object": {"prompt_tokens": 1.5, "completion_tokens": 1}}},
         "metadata.usage_object.prompt_tokens is 1.5, expected a whole number of tokens >= 0"),
    ],
)  # fmt: skip
def test_a_fault_is_named_with_its_line(read: Read, more: Row, message: str) -> None:
    with pytest.raises(LogError) as caught:
        read(litellm("a"), litellm("b") | more)
    assert f" line 2: {message}" in str(caught.value)
