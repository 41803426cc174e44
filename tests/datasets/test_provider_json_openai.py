"""OpenAI pairs, Chat Completions and Responses: prompts, usage, history on the server."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from api_calls import chat, completion, pair, response, responses, said, seen, used

from cachecast_datasets.request import Request
from cachecast_datasets.trace import Trace

TraceOf = Callable[..., Trace]
Write = Callable[..., Path]

FUNCTION = {"type": "function", "function": {"name": "grep", "parameters": {"type": "object"}}}
ASK = chat(said("user", "How are you?"))
BREAK = {"prompt_cache_breakpoint": {"mode": "explicit"}}


def shape(request: Request) -> list[tuple[str, str, int]]:
    assert request.blocks is not None
    return [(block.section, block.kind, block.message) for block in request.blocks]


def test_a_chat_is_rendered_tools_then_messages(trace_of: TraceOf) -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    call = {"id": "c1", "type": "function", "function": {"name": "grep", "arguments": "{}"}}
    body = chat(
        said("system", "Be brief."),
        said("developer", "And kind."),
        said("user", [{"type": "text", "text": "Look."}, picture]),
        said("assistant", None, tool_calls=[call]),
        said("tool", "3 lines", tool_call_id="c1"),
        tools=[FUNCTION],
    )
    (request,) = trace_of(pair(body, completion(used(1_000))))
    assert shape(request) == [
        ("tools", "tool_definition", 0), ("system", "text", 1), ("developer", "text", 2),
        ("user", "text", 3), ("user", "image", 3), ("assistant", "tool_use", 4),
        ("tool", "tool_result", 5),
    ]  # fmt: skip
    assert request.blocks is not None
    assert sum(block.tokens for block in request.blocks) == request.prompt_tokens == 1_000


def test_a_response_is_rendered_tools_instructions_then_items(trace_of: TraceOf) -> None:
    items = [
        said("developer", "And kind."),
        said("user", [{"type": "input_text", "text": "Look."}, {"type": "input_image"}]),
        {"type": "reasoning", "summary": [], "encrypted_content": "xyz"},
        {"type": "function_call", "call_id": "c1", "name": "grep", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "3 lines"},
        {"type": "something_new", "a": 1},
    ]
    tool = {"type": "function", "name": "grep", "parameters": {}}
    body = responses(items, instructions="Be brief.", tools=[tool])
    use = {"input_tokens": 1_000, "output_tokens": 5, "total_tokens": 1_005}
    (request,) = trace_of(pair(body, response(use)))
    assert shape(request) == [
        ("tools", "tool_definition", 0), ("system", "text", 1), ("developer", "text", 2),
        ("user", "text", 3), ("user", "image", 3), ("assistant", "thinking", 4),
        ("assistant", "tool_use", 5), ("tool", "tool_result", 6), ("developer", "text", 7),
    ]  # fmt: skip


def test_a_plain_string_is_one_user_message(trace_of: TraceOf) -> None:
    (request,) = trace_of(pair(responses("Hello"), response({"input_tokens": 9})))
    assert shape(request) == [("user", "text", 0)]


def test_breakpoints_are_markers_and_never_content(trace_of: TraceOf) -> None:
    part = {"type": "text", "text": "Long text."}
    bare = chat(said("developer", [part]), said("user", "Q"))
    marked = chat(
        said("developer", [part | BREAK]),
        said("user", "Q"),
        prompt_cache_options={"mode": "explicit", "ttl": "30m"},
    )
    one, other = trace_of(
        pair(bare, completion(used(100))), pair(marked, completion(used(100), id="2"))
    )
    assert one.blocks is not None
    assert other.blocks is not None
    assert [b.marker for b in other.blocks] == ["breakpoint", None]
    assert [b[5:8] for b in one.blocks] == [b[5:8] for b in other.blocks]
    assert (one.cache_mode, other.cache_mode) == (None, "explicit")


def test_a_breakpoint_inside_a_tools_answer_holds_for_the_answer(trace_of: TraceOf) -> None:
    output = [{"type": "input_text", "text": "3 lines"} | BREAK]
    body = responses([{"type": "function_call_output", "call_id": "c", "output": output}])
    (request,) = trace_of(pair(body, response({"input_tokens": 9})))
    assert request.blocks is not None
    assert request.blocks[0].marker == "breakpoint"


def test_settings_have_one_name_in_both_apis(trace_of: TraceOf) -> None:
    both = {
        "parallel_tool_calls": False, "tool_choice": "none", "prompt_cache_key": "anna@example.org",
        "prompt_cache_options": {"ttl": "30m"}, "service_tier": "flex",
    }  # fmt: skip
    one = ASK | both | {"reasoning_effort": "low", "verbosity": "high"}
    other = responses("Q", reasoning={"effort": "low"}, text={"verbosity": "high"}, **both)
    first, second = trace_of(
        pair(one, completion(used(9))), pair(other, response({"input_tokens": 9}))
    )
    assert first.settings == second.settings
    settings = dict(first.settings)
    assert settings.pop("prompt_cache_key").startswith("#")
    assert settings == {
        "tool_choice": "none", "parallel_tool_calls": "false", "reasoning.effort": "low",
        "text.verbosity": "high", "prompt_cache_options.ttl": "30m",
    }  # fmt: skip
    assert first.service_tier == "flex"


def test_a_schema_is_part_of_the_settings_but_not_its_text(trace_of: TraceOf) -> None:
    schema = {"type": "json_schema", "json_schema": {"name": "secret_shape"}}
    rows = [
        pair(ASK | {"response_format": value}, completion(used(9), id=f"c{n}"))
        for n, value in enumerate((schema, {"type": "json_object"}, {"type": "text"}))
    ]
    own, loose, plain = trace_of(*rows)
    assert own.settings["response_format"].startswith("#")
    assert loose.settings["response_format"] == '{"type":"json_object"}'
    assert plain.settings == {}  # the default, spelled out


@pytest.mark.parametrize(
    ("use", "expected"),
    [
        # OAI-04 of the facts
        (used(2_006, 1_920, 0, 300), {"fresh": 86, "cache_read": 1_920, "output": 300}),
        # 5.6 and later: a read and a write in one request
        (used(15_000, 12_000, 2_867), {"fresh": 133, "cache_read": 12_000,
         "cache_write_30m": 2_867, "output": 10}),
        # no details at all: a class that the API leaves out is 0
        ({"prompt_tokens": 9, "completion_tokens": 1}, {"fresh": 9, "output": 1}),
        # DeepSeek
        ({"prompt_tokens": 100, "completion_tokens": 1, "prompt_cache_hit_tokens": 64,
          "prompt_cache_miss_tokens": 36, "prompt_tokens_details": None},
         {"fresh": 36, "cache_read": 64, "output": 1}),
        # reasoning inside the completion, and xAI's beside it
        (used(9, out=5) | {"completion_tokens_details": {"reasoning_tokens": 4}},
         {"fresh": 9, "output": 5, "output_reasoning": 4}),
        ({"prompt_tokens": 9, "completion_tokens": 5, "total_tokens": 18,
          "completion_tokens_details": {"reasoning_tokens": 4}},
         {"fresh": 9, "output": 9, "output_reasoning": 4}),
    ],
)  # fmt: skip
def test_usage_is_inclusive(trace_of: TraceOf, use: Any, expected: dict[str, int]) -> None:
    (request,) = trace_of(pair(ASK, completion(use)))
    assert seen(request) == expected
    assert request.prompt_tokens == use["prompt_tokens"]


@pytest.mark.parametrize("details", [None, {"cached_tokens": None}])
def test_null_details_are_unknown_not_zero(trace_of: TraceOf, details: Any) -> None:
    use = {"prompt_tokens": 9, "completion_tokens": 1, "prompt_tokens_details": details}
    (request,) = trace_of(pair(ASK, completion(use)))
    assert request.observed is not None
    assert (request.observed.fresh, request.observed.cache_read) == (None, None)
    assert request.prompt_tokens == 9  # the size of the prompt is known all the same


def test_usage_that_does_not_add_up_is_an_error(trace_of: TraceOf) -> None:
    with pytest.raises(Exception, match="line 1: usage does not add up: input 10, read 90"):
        trace_of(pair(ASK, completion(used(10, 90))))


def test_the_providers_own_diagnosis_is_kept(trace_of: TraceOf) -> None:
    found = {"type": "cache_miss", "reason": "tools_changed"}
    use = {"input_tokens": 9, "output_tokens": 1}
    (request,) = trace_of(pair(responses("Q"), response(use, prompt_cache_diagnostics=found)))
    assert request.observed is not None
    assert json.loads(request.observed.diagnosis or "") == found


def test_history_on_the_server_leaves_counts_only(
    write: Write, import_all: Callable[..., Any]
) -> None:
    rows = [
        pair(responses("First"), response({"input_tokens": 9, "output_tokens": 1})),
        pair(responses("More", previous_response_id="resp_1"),
             response({"input_tokens": 30, "output_tokens": 1}, id="resp_2")),
        pair(responses([{"type": "item_reference", "id": "x"}]),
             response({"input_tokens": 40, "output_tokens": 1}, id="resp_3")),
    ]  # fmt: skip
    trace, summary = import_all(write(*rows))
    requests = list(trace)
    assert [request.blocks is None for request in requests] == [False, True, True]
    assert [request.prompt_tokens for request in requests] == [9, 30, 40]
    assert requests[1].parent_request_id == requests[0].request_id == "resp_1"
    assert summary.warnings == [
        "1 × previous_response_id: a part of the prompt is on the server, counts only",
        "1 × item_reference: a part of the prompt is on the server, counts only",
    ]


def test_br31_the_call_that_compacts_a_history_is_counted_beside_the_turns(
    trace_of: TraceOf,
) -> None:
    """12 turns of 1,800 tokens in all and a compaction of 192,000, whose object has other names."""
    turns = [
        pair(responses(f"Question {n}"),
             response({"input_tokens": 140, "output_tokens": 10}, id=f"resp_{n}"))
        for n in range(12)
    ]  # fmt: skip
    use = {"input_tokens": 190_000, "output_tokens": 2_000}
    output = [{"type": "compaction", "encrypted_content": "x"}]
    compact = response(use, output, id="resp_c", object="response.compaction")
    requests = list(trace_of(*turns, pair({"model": "gpt-5.6-sol", "input": "All"}, compact)))
    total = sum((one.prompt_tokens or 0) + (one.output_tokens or 0) for one in requests)
    assert total == 12 * 150 + 192_000 == 193_800


def test_the_answer_is_the_next_turns_assistant_block(trace_of: TraceOf) -> None:
    again = chat(*ASK["messages"], said("assistant", "Fine."), said("user", "Good."))
    one, two = trace_of(pair(ASK, completion(used(9))), pair(again, completion(used(20), id="2")))
    assert two.blocks is not None
    assert one.answer_hash == two.blocks[1].hash
    words = [{"type": "output_text", "text": "Fine.", "annotations": []}]
    output = [{"type": "message", "role": "assistant", "id": "m", "content": words}]
    use = {"input_tokens": 9, "output_tokens": 1}
    one, two = trace_of(
        pair(responses("Q"), response(use, output)),
        pair(responses([said("user", "Q"), *output]), response(use, id="resp_2")),
    )
    assert two.blocks is not None
    assert one.answer_hash == two.blocks[1].hash


def test_without_times_the_second_of_creation_is_the_arrival(trace_of: TraceOf) -> None:
    (request,) = trace_of({"request": ASK, "response": completion(used(9))})
    assert request.arrival_us == 1_795_168_800_000_000
    assert request.arrival_uncertainty_s == 1.0


def test_written_tokens_end_at_the_last_message_and_the_tail_stays_fresh(trace_of: TraceOf) -> None:
    """OAI-14 of the facts: 9,556 written, a tail of 133 tokens is never cached."""
    (request,) = trace_of(pair(ASK, completion(used(9_689, 0, 9_556))))
    assert request.boundaries is not None
    assert request.boundaries.tokens == [9_556]
