"""OpenAI's answers as event streams: usage in the last chunk, pieces put together, broken off."""

from collections.abc import Callable
from typing import Any

import pytest
from api_calls import chat, completion, pair, response, responses, said, seen, sse, used

from cachecast_datasets.trace import Trace

TraceOf = Callable[..., Trace]

ASK = chat(said("user", "How are you?"))


def chunks(*deltas: Any, finish: str | None = "stop") -> list[Any]:
    made: list[Any] = [
        {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1_795_168_800,
         "model": "gpt-5.6-sol", "choices": [{"index": 0, "delta": d, "finish_reason": None}],
         "usage": None}
        for d in deltas
    ]  # fmt: skip
    if finish is not None:
        made[-1]["choices"][0]["finish_reason"] = finish
    return made


def test_usage_is_in_the_last_chunk_with_empty_choices(trace_of: TraceOf) -> None:
    last = {"id": "chatcmpl-1", "choices": [], "usage": used(2_006, 1_920)}
    body = sse(*chunks({"role": "assistant", "content": "Fi"}, {"content": "ne."}), last, "[DONE]",
               named=False)  # fmt: skip
    (request,) = trace_of(pair(ASK, body))
    assert seen(request) == {"fresh": 86, "cache_read": 1_920, "output": 10}
    (whole,) = trace_of(pair(ASK, completion(used(9))))
    assert request.answer_hash == whole.answer_hash


def test_a_finished_stream_without_usage_is_ok_and_unknown(trace_of: TraceOf) -> None:
    (request,) = trace_of(pair(ASK, sse(*chunks({"content": "Fine."}), "[DONE]", named=False)))
    assert (request.status, request.observed, request.prompt_tokens) == ("ok", None, None)
    assert request.answer_hash is not None


def test_a_stream_that_broke_off_is_unknown_not_zero(trace_of: TraceOf) -> None:
    (request,) = trace_of(pair(ASK, sse(*chunks({"content": "Fi"}, finish=None), named=False)))
    assert (request.status, request.observed, request.prompt_tokens) == ("aborted", None, None)


def test_a_tool_call_is_put_together_from_its_pieces(trace_of: TraceOf) -> None:
    def piece(**function: str) -> Any:
        return {"tool_calls": [{"index": 0, "function": function}]}

    first = {"tool_calls": [{"index": 0, "id": "c", "type": "function", "function": {"name": "f"}}]}
    body = sse(*chunks(first, piece(arguments="{"), piece(arguments="}")), named=False)
    (request,) = trace_of(pair(ASK, body))
    assert request.output_types == ["tool_use"]


@pytest.mark.parametrize(
    ("last", "status"),
    [("response.completed", "ok"), ("response.incomplete", "ok"), (None, "aborted"),
     ("response.failed", "error")],
)  # fmt: skip
def test_a_responses_stream_ends_with_the_whole_response(
    trace_of: TraceOf, last: str | None, status: str
) -> None:
    start = response(None, status="in_progress")
    events: list[Any] = [{"type": "response.created", "response": start},
                         {"type": "response.output_text.delta", "delta": "Fi"}]  # fmt: skip
    if last is not None:
        state = last.removeprefix("response.")
        use = {"input_tokens": 9, "output_tokens": 1} if status == "ok" else None
        events.append({"type": last, "response": response(use, status=state)})
    (request,) = trace_of(pair(responses("Q"), sse(*events)))
    assert request.status == status
    assert (request.prompt_tokens, request.observed is None) == (
        (9, False) if status == "ok" else (None, True)
    )
