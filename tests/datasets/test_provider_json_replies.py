"""Anthropic responses in pairs: usage, iterations, streams, failures; names and times of pairs."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from api_calls import (
    OPUS,
    claude,
    claude_end,
    claude_events,
    message,
    pair,
    said,
    seen,
    sse,
    text,
    usage,
)

from cachecast_datasets.request import Request
from cachecast_datasets.trace import Trace

TraceOf = Callable[..., Trace]
Write = Callable[..., Path]

ASK = claude(messages=[said("user", "How are you?")])


def requests(trace: Trace) -> list[Request]:
    return list(trace)


@pytest.mark.parametrize(
    ("use", "expected"),
    [
        # ANT-08 of the facts: 2048 + 1800 + 248 = 4096
        (usage(2048, 1800, 148, 100, 503), {"fresh": 2048, "cache_read": 1800,
         "cache_write_5m": 148, "cache_write_1h": 100, "output": 503}),
        # a total without its split is of unknown lifetime
        ({"input_tokens": 5, "cache_creation_input_tokens": 300, "output_tokens": 1},
         {"fresh": 5, "cache_write_unknown": 300, "output": 1}),
        # BR-43: the total is zeroed and the counts sit in the split
        (usage(5, 0, 40, 60) | {"cache_creation_input_tokens": 0},
         {"fresh": 5, "cache_write_5m": 40, "cache_write_1h": 60, "output": 10}),
        # some exports flatten the split
        ({"input_tokens": 5, "ephemeral_5m_input_tokens": 7, "ephemeral_1h_input_tokens": 8,
          "output_tokens": 1}, {"fresh": 5, "cache_write_5m": 7, "cache_write_1h": 8, "output": 1}),
        # one lifetime is null: what the total leaves over
        ({"input_tokens": 5, "cache_creation_input_tokens": 9, "output_tokens": 1,
          "cache_creation": {"ephemeral_5m_input_tokens": 4, "ephemeral_1h_input_tokens": None}},
         {"fresh": 5, "cache_write_5m": 4, "cache_write_1h": 5, "output": 1}),
    ],
)  # fmt: skip
def test_usage_is_additive_and_splits_writes_by_lifetime(
    trace_of: TraceOf, use: Any, expected: dict[str, int]
) -> None:
    (request,) = trace_of(pair(ASK, message(use)))
    assert seen(request) == expected
    assert request.prompt_tokens == sum(v for k, v in expected.items() if k != "output")
    assert request.output_tokens == expected["output"]


def test_null_is_unknown_and_absent_is_zero(trace_of: TraceOf) -> None:
    nulls = {"cache_read_input_tokens": None, "cache_creation_input_tokens": None}
    (unknown,) = trace_of(pair(ASK, message({"input_tokens": 7, "output_tokens": 2} | nulls)))
    (zero,) = trace_of(pair(ASK, message({"input_tokens": 7, "output_tokens": 2})))
    assert unknown.observed is not None
    assert unknown.observed[:7] == (7, None, None, 0, None, 0, None)
    assert unknown.prompt_tokens is None
    assert zero.observed is not None
    assert zero.observed[:7] == (7, 0, 0, 0, 0, 0, 0)
    assert zero.prompt_tokens == 7


def test_iterations_are_summed_and_kept(trace_of: TraceOf) -> None:
    """BR-29: 180,000 + 23,000 in and 3,500 + 1,000 out are billed, not 23,000 and 1,000."""
    iterations = [
        {"type": "compaction", "input_tokens": 180_000, "output_tokens": 3_500},
        {"type": "message", "input_tokens": 23_000, "output_tokens": 1_000},
    ]
    use = {"input_tokens": 23_000, "output_tokens": 1_000, "iterations": iterations}
    (request,) = trace_of(pair(ASK, message(use)))
    assert seen(request) == {"fresh": 203_000, "output": 4_500}
    assert request.prompt_tokens == 180_000  # the prompt that was sent
    assert request.observed is not None
    assert json.loads(request.observed.iterations or "") == iterations


def test_a_declined_request_is_billed_with_its_fallback(trace_of: TraceOf) -> None:
    iterations = [
        {"type": "message", "model": "claude-fable-5", **usage(10, 0, 990, out=1)},
        {"type": "fallback_message", "model": OPUS, **usage(10, 0, 990, out=200)},
    ]
    use = usage(10, 0, 990, out=200) | {"iterations": iterations}
    (request,) = trace_of(
        pair(ASK | {"model": "claude-fable-5", "fallbacks": [{"model": OPUS}]}, message(use))
    )
    assert seen(request) == {"fresh": 20, "cache_write_5m": 1_980, "output": 201}
    assert (request.model, request.model_served) == ("claude-fable-5", OPUS)
    assert (request.prompt_tokens, request.status) == (1_000, "ok")


def test_a_refusal_without_a_fallback_is_an_answer_with_usage(trace_of: TraceOf) -> None:
    refused = message(usage(106, out=1), [], stop_reason="refusal")
    (request,) = trace_of(pair(ASK, refused))
    assert (request.status, seen(request)) == ("ok", {"fresh": 106, "output": 1})
    assert request.answer_hash is None


def test_thinking_and_server_tools_are_kept(trace_of: TraceOf) -> None:
    more = {
        "output_tokens_details": {"thinking_tokens": 6},
        "server_tool_use": {"web_search_requests": 2},
        "inference_geo": "us",
        "speed": "fast",
    }
    (request,) = trace_of(pair(ASK, message(usage(100, out=10) | more)))
    assert request.observed is not None
    assert request.observed.output_reasoning == 6
    assert json.loads(request.observed.raw_json or "")["server_tool_use"] == {
        "web_search_requests": 2
    }
    assert (request.region, request.speed) == ("us", "fast")


@pytest.mark.parametrize(
    "diagnostics",
    [
        {"cache_miss_reason": None},
        {"cache_miss_reason": {"type": "tools_changed", "cache_missed_input_tokens": 812}},
    ],
)
def test_the_providers_own_diagnosis_is_kept(trace_of: TraceOf, diagnostics: Any) -> None:
    (request,) = trace_of(pair(ASK, message(usage(100), diagnostics=diagnostics)))
    assert request.observed is not None
    assert json.loads(request.observed.diagnosis or "") == diagnostics


def test_the_answer_is_the_next_turns_assistant_block(trace_of: TraceOf) -> None:
    again = claude(messages=[*ASK["messages"], said("assistant", [text("Fine.")])])
    first, second = trace_of(
        pair(ASK, message(usage(10))), pair(again, message(usage(20), id="msg_2"))
    )
    assert second.blocks is not None
    assert first.answer_hash == second.blocks[1].hash


# Streams


def test_a_stream_counts_cumulatively_and_keeps_the_lifetimes(trace_of: TraceOf) -> None:
    """BR-41: message_delta repeats the counts of message_start; nothing is added."""
    start = usage(4, 1_000, 200, 50, out=1)
    final = {"input_tokens": 4, "cache_read_input_tokens": 1_000,
             "cache_creation_input_tokens": 250, "output_tokens": 77}  # fmt: skip
    events = [*claude_events(start, "Fi", "ne."), {"type": "ping"}, *claude_end(final)]
    (request,) = trace_of(pair(ASK, sse(*events)))
    assert seen(request) == {
        "fresh": 4, "cache_read": 1_000, "cache_write_5m": 200, "cache_write_1h": 50, "output": 77,
    }  # fmt: skip
    (whole,) = trace_of(pair(ASK, message(usage(4))))
    assert (request.status, request.answer_hash) == ("ok", whole.answer_hash)


@pytest.mark.parametrize("end", ["\n\n", "\r\n\r\n"])
@pytest.mark.parametrize("named", [True, False])
def test_a_stream_is_read_whatever_its_line_ends(trace_of: TraceOf, end: str, named: bool) -> None:
    body = sse(*claude_events(usage(9)), *claude_end(usage(9, out=3)), named=named, end=end)
    (request,) = trace_of(pair(ASK, ": comment\n\n" + body))
    assert seen(request) == {"fresh": 9, "output": 3}


def test_events_may_also_be_a_list(trace_of: TraceOf) -> None:
    (request,) = trace_of(pair(ASK, [*claude_events(usage(9)), *claude_end(usage(9, out=3))]))
    assert seen(request) == {"fresh": 9, "output": 3}


def test_a_tool_call_is_put_together_from_its_pieces(trace_of: TraceOf) -> None:
    call = {"type": "tool_use", "id": "t1", "name": "grep", "input": {}}
    events = [
        *claude_events(usage(9))[:1],
        {"type": "content_block_start", "index": 0, "content_block": call},
        *(
            {"type": "content_block_delta", "index": 0,
             "delta": {"type": "input_json_delta", "partial_json": piece}}
            for piece in ('{"q": ', '"a"}')
        ),
        *claude_end(usage(9, out=3)),
    ]  # fmt: skip
    (request,) = trace_of(pair(ASK, sse(*events)))
    assert request.output_types == ["tool_use"]
    assert request.answer_hash is None


def test_a_stream_that_broke_off_has_no_output_count(trace_of: TraceOf) -> None:
    """The count in message_start is a placeholder; the prompt's classes are known from it."""
    cut = sse(*claude_events(usage(4, 1_000, out=1), "Fi")) + 'data: {"type": "content_bl'
    (request,) = trace_of(pair(ASK, cut, duration_ms=1500))
    assert request.status == "aborted"
    assert request.observed is not None
    assert request.observed.output is None
    assert (request.prompt_tokens, request.output_tokens) == (1_004, None)
    assert request.first_token_s == 1.5  # it had begun: what it wrote is there


def test_a_stream_that_broke_off_before_its_start_is_unknown_not_zero(trace_of: TraceOf) -> None:
    (request,) = trace_of(pair(ASK, sse({"type": "ping"})))
    assert (request.status, request.observed, request.prompt_tokens) == ("aborted", None, None)
    assert request.blocks is not None
    assert request.blocks[0].tokens == 3  # "How are you?" is 12 bytes, 4 a token


# Failures


@pytest.mark.parametrize(
    ("response", "more", "status"),
    [
        # BR-85: five markers are refused
        ({"type": "error", "error": {"type": "invalid_request_error", "message": "max 4, found 5"}},
         {"status_code": 400}, "rejected"),
        ({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, {},
         "error"),
        ({"type": "error", "error": {"type": "rate_limit_error"}}, {"status": 429}, "rejected"),
        (sse({"type": "error", "error": {"type": "overloaded_error"}}), {}, "error"),
        (None, {"status": 529}, "error"),
        (None, {}, None),
    ],
)  # fmt: skip
def test_a_failure_has_a_status_and_no_usage(
    trace_of: TraceOf, response: Any, more: Any, status: str | None
) -> None:
    (request,) = trace_of(pair(ASK, response, **more))
    assert (request.status, request.observed, request.prompt_tokens) == (status, None, None)


# Names, times, sessions


def test_ids_times_sessions_and_accounts_are_found(trace_of: TraceOf) -> None:
    body = ASK | {"metadata": {"user_id": "user_1_account_2_session_abc"}}
    (request,) = trace_of(
        pair(body, message(usage(5)), end_time="2026-11-20T10:00:02.5Z", ttft_ms=700, id="r-1",
             api_key="sk-ant-verysecret")
    )  # fmt: skip
    assert (request.request_id, request.response_id) == ("r-1", "msg_1")
    assert (request.session_id, request.end_s, request.first_token_s) == ("abc", 2.5, 0.7)
    assert request.arrival_us == 1_795_168_800_000_000
    assert request.account is not None
    assert "secret" not in request.account


@pytest.mark.parametrize(
    ("names", "shape"),
    [
        (("req", "res"), lambda body: body),
        (("request_body", "response_body"), json.dumps),
        (("body", "response_body"), lambda body: body),
        (("input", "output"), lambda body: body),
        (("request", "response"), lambda body: {"body": body, "headers": {"X-Api-Key": "k"}}),
        (("request", "response"), lambda body: {"body": json.dumps(body)}),
    ],
)
def test_pairs_come_under_many_names(
    trace_of: TraceOf, names: tuple[str, str], shape: Callable[[Any], Any]
) -> None:
    row = {names[0]: shape(ASK), names[1]: shape(message(usage(5))), "time": 1_795_168_800}
    (request,) = trace_of(row)
    assert (request.prompt_tokens, request.arrival_us) == (5, 1_795_168_800_000_000)


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("array", [True, False])
def test_a_json_array_and_one_file_a_pair_are_read_too(
    write: Write, import_all: Callable[..., Any], indent: int | None, array: bool
) -> None:
    row = pair(ASK, message(usage(5)))
    path = write(json.dumps([row, row | {"id": "2"}] if array else row, indent=indent))
    trace, _ = import_all(path)
    assert [request.prompt_tokens for request in trace] == [5, 5] if array else [5]


def test_without_times_requests_stand_a_second_apart_and_the_import_says_so(
    write: Write, import_all: Callable[..., Any]
) -> None:
    rows = [{"request": ASK, "response": message(usage(5), id=f"m{n}")} for n in range(3)]
    trace, summary = import_all(write(*rows))
    assert [request.arrival_us for request in trace] == [0, 1_000_000, 2_000_000]
    assert trace.meta.time_origin == "relative"
    assert summary.warnings == [
        "no times in the file: its requests are put one second apart, in file order"
    ]
