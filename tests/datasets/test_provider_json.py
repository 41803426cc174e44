"""Anthropic request and response pairs: a file in, stated blocks, markers and totals out."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from api_calls import OPUS, claude, message, pair, said, text, usage

from cachecast_datasets.request import Observed, Request
from cachecast_datasets.trace import Trace

TraceOf = Callable[..., Trace]
Write = Callable[..., Path]

TOOL = {"name": "grep", "description": "Find lines.", "input_schema": {"type": "object"}}
ASK = claude(messages=[said("user", "How are you?")])


def requests(trace: Trace) -> list[Request]:
    return list(trace)


def test_a_prompt_is_rendered_tools_then_system_then_messages(trace_of: TraceOf) -> None:
    body = claude(
        messages=[
            said("user", [text("Look."), {"type": "image", "source": {"data": "AAAA"}}]),
            said("assistant", [
                {"type": "thinking", "thinking": "Hm.", "signature": "x"},
                {"type": "tool_use", "id": "t1", "name": "grep", "input": {"q": "a"}},
            ]),
            said("user", [{"type": "tool_result", "tool_use_id": "t1", "content": "3 lines"}]),
        ],
        system=[text("Be brief.")],
        tools=[TOOL],
    )  # fmt: skip
    (request,) = trace_of(pair(body, message(usage(1000))))
    assert request.blocks is not None
    assert [(b.section, b.role, b.kind, b.message) for b in request.blocks] == [
        ("tools", None, "tool_definition", 0),
        ("system", "system", "text", 1),
        ("user", "user", "text", 2),
        ("user", "user", "image", 2),
        ("assistant", "assistant", "thinking", 3),
        ("assistant", "assistant", "tool_use", 3),
        ("tool", "user", "tool_result", 4),
    ]
    assert sum(block.tokens for block in request.blocks) == request.prompt_tokens == 1000
    assert request.model == OPUS
    assert request.output_types == ["text"]


def test_server_tools_documents_and_unknown_types_have_their_kinds(trace_of: TraceOf) -> None:
    blocks = [
        {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "q"}},
        {"type": "web_search_tool_result", "tool_use_id": "s", "content": []},
        {"type": "document", "source": {"data": "D"}, "citations": {"enabled": True}},
        {"type": "hologram", "data": "?"},
    ]  # fmt: skip
    search = {"type": "web_search_20250305", "name": "web_search"}
    body = claude(messages=[said("user", blocks)], tools=[search])
    trace = trace_of(pair(body, message(usage(500))))
    (request,) = trace
    assert request.blocks is not None
    assert [b.kind for b in request.blocks[1:]] == [
        "tool_use", "server_tool_result", "document", "text",
    ]  # fmt: skip
    assert request.settings == {"web_search": "on", "citations": "on"}


def test_a_deferred_tool_is_outside_the_prefix(trace_of: TraceOf) -> None:
    body = claude(tools=[TOOL, TOOL | {"name": "later", "defer_loading": True}])
    (request,) = trace_of(pair(body, message(usage(100))))
    assert request.blocks is not None
    assert [b.section for b in request.blocks] == ["tools"]


def test_what_stands_before_a_compaction_is_no_longer_in_the_prompt(trace_of: TraceOf) -> None:
    summary = {"type": "compaction", "content": "We spoke of cats."}
    turns = [said("user", "old"), said("assistant", [summary]), said("user", "new")]
    body = claude(system="S", messages=turns)
    (request,) = trace_of(pair(body, message(usage(100))))
    assert request.blocks is not None
    assert [b.section for b in request.blocks] == ["system", "assistant", "user"]


def test_markers_stand_on_tools_system_and_messages_with_their_lifetime(trace_of: TraceOf) -> None:
    inside = [text("3 lines", "5m")]  # a marker inside a tool's result holds for the whole block
    body = claude(
        tools=[TOOL | {"cache_control": {"type": "ephemeral", "ttl": "1h"}}],
        system=[text("S", "1h"), text("T")],
        messages=[
            said("user", [{"type": "text", "text": "Q", "cache_control": {"type": "ephemeral"}}]),
            said("user", [{"type": "tool_result", "tool_use_id": "t", "content": inside}]),
            said("user", [{"type": "text", "text": "R", "cache_control": None}]),
        ],
    )  # fmt: skip
    (request,) = trace_of(pair(body, message(usage(100))))
    assert request.blocks is not None
    assert [b.marker for b in request.blocks] == ["1h", "1h", None, "5m", "5m", None]
    assert request.cache_mode is None


@pytest.mark.parametrize(
    ("control", "mode"),
    [
        ({"type": "ephemeral"}, "auto"),
        ({"type": "ephemeral", "ttl": "1h"}, "auto:1h"),
        (None, None),
    ],
)
def test_a_marker_on_top_is_the_automatic_mode(
    trace_of: TraceOf, control: Any, mode: str | None
) -> None:
    (request,) = trace_of(pair(ASK | {"cache_control": control}, message(usage(100))))
    assert request.cache_mode == mode


def blocks_of(trace_of: TraceOf, **body: Any) -> list[Any]:
    (request,) = trace_of(pair(claude(**body), message(usage(100))))
    assert request.blocks is not None
    return list(request.blocks)


def test_a_marker_is_not_part_of_the_content(trace_of: TraceOf) -> None:
    bare = blocks_of(trace_of, tools=[TOOL], system=[text("S")])
    marked = blocks_of(
        trace_of,
        tools=[TOOL | {"cache_control": {"type": "ephemeral"}}],
        system=[text("S", "1h")],
    )
    assert [b[5:8] for b in bare] == [b[5:8] for b in marked]


def test_a_schema_may_have_a_property_called_cache_control(trace_of: TraceOf) -> None:
    schema = {"properties": {"cache_control": {"type": "string"}}}
    one = blocks_of(trace_of, tools=[TOOL | {"input_schema": schema}])
    other = blocks_of(trace_of, tools=[TOOL | {"input_schema": {"properties": {}}}])
    assert one[0].hash != other[0].hash


def test_keys_in_another_order_are_told_from_another_tool(trace_of: TraceOf) -> None:
    (one,) = blocks_of(trace_of, tools=[TOOL])
    (other,) = blocks_of(trace_of, tools=[dict(reversed(TOOL.items()))])
    assert one.hash != other.hash
    assert one.canonical_hash == other.canonical_hash


def test_a_string_equals_the_one_text_block_canonically_but_not_raw(
    write: Write, import_all: Callable[..., Any]
) -> None:
    """BR-66: Opus treats them as equal, Fable 5.1 does not; the import says that both occur."""
    rows = [
        pair(claude(messages=[said("user", content)]), message(usage(100), id=f"msg_{n}"))
        for n, content in enumerate(("Hello there", [text("Hello there")]))
    ]
    trace, summary = import_all(write(*rows))
    one, other = (request.blocks[0] for request in trace)
    assert one.hash != other.hash
    assert one.canonical_hash == other.canonical_hash
    assert "a text sent as a plain string here and as a text block there" in summary.warnings[0]


def test_a_billing_line_that_changes_is_equal_once_masked(trace_of: TraceOf) -> None:
    """BR-94: five hexadecimal digits in the first system block differ in every request."""
    line = "x-anthropic-billing-header: cc_version=2.1.36.{}; cch={};"
    (one,) = blocks_of(trace_of, system=line.format("a1b2c", "00f1e"))
    (other,) = blocks_of(trace_of, system=line.format("9c0de", "b2a44"))
    assert one.hash != other.hash
    assert one.masked_hash == other.masked_hash


def test_settings_are_named_by_their_path_and_hold_no_text(trace_of: TraceOf) -> None:
    body = ASK | {
        "tool_choice": {"type": "tool", "name": "secret", "disable_parallel_tool_use": True},
        "thinking": {"type": "enabled", "budget_tokens": 4000},
        "output_config": {"effort": "high", "format": {"type": "json_schema", "schema": {}}},
        "speed": "fast",
        "service_tier": "auto",
        "max_tokens": 0,
    }  # fmt: skip
    (request,) = trace_of(pair(body, message(usage(100) | {"service_tier": "priority"})))
    settings = dict(request.settings)
    assert settings.pop("tool_choice").startswith('{"name":"#')
    assert settings.pop("output_config.format").startswith("#")
    assert settings == {
        "tool_choice.disable_parallel_tool_use": "true",
        "thinking": '{"budget_tokens":4000,"type":"enabled"}',
        "output_config.effort": "high",
        "speed": "fast",
        "prewarm": "true",
    }
    assert (request.speed, request.service_tier) == ("fast", "priority")


# Tokens of the blocks


def test_what_was_cached_ends_at_the_last_marker_to_the_token(trace_of: TraceOf) -> None:
    """1h to the end of the system text: 3,000. 5m to the end of the question: 900. 4 behind it."""
    body = claude(
        system=[text("S" * 400, "1h")], messages=[said("user", [text("Q" * 4_000, "5m")])]
    )
    (request,) = trace_of(pair(body, message(usage(4, 0, 900, 3_000))))
    assert request.blocks is not None
    assert [block.tokens for block in request.blocks] == [3_000, 900]
    assert request.prompt_tokens == 3_904


def test_a_prefix_of_known_length_keeps_it_in_later_prompts(trace_of: TraceOf) -> None:
    system = [text("S" * 400)]
    question = said("user", "Q" * 40)
    first = pair(claude(system=system, messages=[question]), message(usage(1_000)))
    later = claude(
        system=system, messages=[question, said("assistant", "A" * 30), said("user", "R" * 10)]
    )
    _, second = trace_of(first, pair(later, message(usage(1_400), id="msg_2")))
    assert second.boundaries is not None
    assert second.boundaries.tokens[1] == 1_000  # where the first prompt ended
    assert second.boundaries.tokens[-1] == 1_400
    assert second.blocks is not None
    assert [b.tokens for b in second.blocks[2:]] == [300, 100]  # 30 bytes to 10 bytes


def test_the_log_says_how_tokens_were_split(trace_of: TraceOf) -> None:
    trace = trace_of(pair(ASK, message(usage(5))))
    assert trace.meta.tokenizer == (
        "estimate: bytes scaled to the reported total, bytes/4 where none is reported"
    )
    assert trace.meta.text_seen
    assert trace.meta.carries_markers
    assert trace.meta.evidence == "text"


def test_observed_is_empty_only_where_nothing_was_reported(trace_of: TraceOf) -> None:
    (request,) = trace_of(pair(ASK, message(None)))
    assert (request.status, request.observed) == ("ok", None)
    assert Observed() == (None,) * len(Observed._fields)
