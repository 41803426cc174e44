"""OpenTelemetry GenAI spans: inclusive or additive, all spellings, only the innermost calls."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from usage_logs import Row, as_lines, classes, otlp, otlp_span

from cachecast_datasets.errors import LogError
from cachecast_datasets.request import Request
from cachecast_datasets.source import Source
from cachecast_datasets.sources import sniff

ReadText = Callable[[str], tuple[list[Request], Source]]
USED = {"fresh": 100, "cache_read": 600, "cache_write_unknown": 300, "output": 50}
_BARE: Row = {
    key["key"]: None for key in otlp_span()["attributes"] if key["key"].startswith("gen_ai.usage")
}


def span(**usage: int | str) -> str:
    """A log of one span with this usage only; dots are spelled as double underscores."""
    named: Row = {name.replace("__", "."): value for name, value in usage.items()}
    return as_lines(otlp(otlp_span(**_BARE | named)))


def test_an_otlp_span_is_inclusive_and_its_integers_are_strings(read_text: ReadText) -> None:
    (one,), source = read_text(as_lines(otlp(otlp_span())))
    assert classes(one) == USED
    assert (one.prompt_tokens, one.output_tokens, one.session_id) == (1000, 50, "c1")
    assert (one.arrival_us, one.end_s) == (1_780_308_000_000_000, 4.0)
    assert (one.model, one.model_served) == ("claude-opus-4-8", "claude-opus-4-8-20260115")
    assert (one.provider, one.status) == ("anthropic", "ok")
    assert [(b.section, b.kind) for b in one.blocks or ()] == [
        ("tools", "tool_definition"), ("system", "text"), ("user", "text"),
    ]  # fmt: skip
    assert sum(b.tokens for b in one.blocks or ()) == 1000
    assert source.notes == []


FLAT = {
    "trace_id": "t", "span_id": "s", "parent_span_id": None, "name": "chat",
    "start_time": "2026-06-01T10:00:00.000000", "end_time": "2026-06-01T10:00:04.000000",
    "attributes": {
        "gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": 1000,
        "gen_ai.usage.output_tokens": 50, "gen_ai.usage.cache_read.input_tokens": 600,
        "gen_ai.usage.cache_creation.input_tokens": 300,
    },
    "status": {"code": 2, "message": "overloaded"},
}  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        as_lines(FLAT),
        json.dumps([FLAT]),
        json.dumps({"trace_id": "t", "spans": [FLAT]}, indent=2),
        as_lines({  # what OpenTelemetry's console exporter prints
            "name": "chat", "context": {"trace_id": "t", "span_id": "s"}, "parent_id": None,
            "start_time": "2026-06-01T10:00:00.000000Z", "end_time": "2026-06-01T10:00:04.000000Z",
            "attributes": FLAT["attributes"], "status": {"status_code": "ERROR"},
        }),
    ],
)  # fmt: skip
def test_flat_spans_are_read_in_every_wrapping(read_text: ReadText, text: str) -> None:
    (one,), _ = read_text(text)
    assert classes(one) == USED
    assert (one.request_id, one.session_id, one.status) == ("t/s", "t", "error")
    assert (one.arrival_us, one.end_s) == (1_780_308_000_000_000, 4.0)


def test_an_input_smaller_than_its_cached_part_is_additive(read_text: ReadText) -> None:
    (one,), source = read_text(
        span(
            gen_ai__usage__input_tokens=100,
            gen_ai__usage__output_tokens=50,
            gen_ai__usage__cache_read_input_tokens=600,
            gen_ai__usage__cache_creation_input_tokens=300,
        )
    )
    assert classes(one) == USED
    assert one.prompt_tokens == 1000
    assert source.notes == [
        "1 spans have an input smaller than its cached part: they are read as additive"
    ]


def test_br_19_a_total_shows_an_additive_span(read_text: ReadText) -> None:
    (one,), _ = read_text(
        span(
            gen_ai__usage__input_tokens=5_000,
            gen_ai__usage__output_tokens=255,
            gen_ai__usage__total_tokens=9_990,
            gen_ai__usage__details__cache_write_tokens=4_735,
        )
    )
    assert classes(one) == {"fresh": 5_000, "cache_write_unknown": 4_735, "output": 255}


READS = [
    "gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_read_input_tokens",
    "gen_ai.usage.cache_read_tokens", "gen_ai.usage.details.cache_read_tokens",
    "gen_ai.usage.details.cache_read_input_tokens", "gen_ai.usage.input_tokens.cached",
    "llm.token_count.prompt_details.cache_read", "ai.usage.cachedInputTokens",
]  # fmt: skip
WRITES = [
    "gen_ai.usage.cache_creation.input_tokens", "gen_ai.usage.cache_creation_input_tokens",
    "gen_ai.usage.cache_write_tokens", "gen_ai.usage.cache_write_input_tokens",
    "gen_ai.usage.details.cache_write_tokens", "gen_ai.usage.input_tokens.cache_write",
    "llm.token_count.prompt_details.cache_write",
    "gen_ai.usage.details.cache_creation_input_tokens",
]  # fmt: skip
INPUTS = [
    ("gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens"),
    ("gen_ai.usage.prompt_tokens", "gen_ai.usage.completion_tokens"),
    ("llm.token_count.prompt", "llm.token_count.completion"),
    ("ai.usage.promptTokens", "ai.usage.completionTokens"),
]


@pytest.mark.parametrize(("read", "write"), list(zip(READS, WRITES, strict=True)))
@pytest.mark.parametrize(("given", "output"), INPUTS)
def test_every_spelling_is_read(
    read_text: ReadText, read: str, write: str, given: str, output: str
) -> None:
    usage: Row = {given: 1000, output: 50, read: 600, write: 300}
    (one,), _ = read_text(as_lines(otlp(otlp_span(**_BARE | usage))))
    assert classes(one) == USED


def test_vercel_s_metadata_carry_anthropic_s_own_usage_with_lifetimes(read_text: ReadText) -> None:
    usage = {
        "input_tokens": 100, "cache_read_input_tokens": 600, "cache_creation_input_tokens": 300,
        "cache_creation": {"ephemeral_5m_input_tokens": 200, "ephemeral_1h_input_tokens": 100},
        "output_tokens": 50,
    }  # fmt: skip
    metadata = json.dumps({"anthropic": {"usage": usage}})
    (one,), _ = read_text(span(ai__response__providerMetadata=metadata))
    assert classes(one) == {
        "fresh": 100, "cache_read": 600, "cache_write_5m": 200, "cache_write_1h": 100, "output": 50,
    }  # fmt: skip


def test_an_agent_and_a_wrapper_are_not_counted_beside_their_calls(read_text: ReadText) -> None:
    agent = otlp_span("a", **{"gen_ai.operation.name": "invoke_agent"})
    wrapper = otlp_span("w", "a")
    calls = [otlp_span("b", "w"), otlp_span("c", "w", start_s=1_780_308_002)]
    tool = otlp_span("d", "w", **{"gen_ai.operation.name": "execute_tool"})
    requests, source = read_text(as_lines(otlp(agent, wrapper, *calls, tool)))
    assert [one.request_id.split("/")[1] for one in requests] == ["b", "c"]
    assert source.notes == [
        "1 spans wrap other model calls and are not counted",
        "2 spans are no model calls and are not counted",
    ]


def test_a_turn_that_names_the_turn_before_it_as_parent_is_a_call(read_text: ReadText) -> None:
    """It starts after the parent ended: a chain, not a wrapper."""
    first, second = otlp_span("a"), otlp_span("b", "a", start_s=1_780_308_010)
    requests, _ = read_text(as_lines(otlp(first, second)))
    assert [one.request_id.split("/")[1] for one in requests] == ["a", "b"]
    assert requests[1].parent_request_id == requests[0].request_id


def test_spans_that_name_each_other_as_parents_do_not_hang(read_text: ReadText) -> None:
    requests, _ = read_text(as_lines(otlp(otlp_span("a", "b"), otlp_span("b", "a"))))
    assert len(requests) <= 2


def test_a_span_sent_twice_is_counted_once(read_text: ReadText) -> None:
    requests, source = read_text(as_lines(otlp(otlp_span()), otlp(otlp_span())))
    assert len(requests) == 1
    assert source.notes == ["1 spans repeat a response already told and are not counted"]


NEGATIVE: Row = {"gen_ai.usage.input_tokens": -1}


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (otlp_span(**NEGATIVE),
         "span 00f067aa0ba902b7: gen_ai.usage.input_tokens is \"-1\", expected a whole number"),
        (otlp_span() | {"spanId": None}, "spanId is missing, expected the span's id"),
        (otlp_span() | {"startTimeUnixNano": "9" * 30},
         'startTimeUnixNano is "999999999999999999999999999999", expected nanoseconds'),
        (otlp_span() | {"attributes": [1]}, "attributes[0] is 1, expected a key and a value"),
    ],
)  # fmt: skip
def test_a_fault_is_named_with_its_line(read_text: ReadText, broken: Row, message: str) -> None:
    with pytest.raises(LogError) as caught:
        read_text(as_lines(otlp(otlp_span("ok")), otlp(broken)))
    assert f" line 2: {message}" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "calls"),
    [
        ("code_review_workflow", 15), ("customer_support_escalation", 9),
        ("fan_in_dependencies", 4), ("parallel_requests", 5), ("prefix_sharing_example", 7),
        ("simple_chain", 3),
    ],
)  # fmt: skip
def test_the_shared_traces_give_every_call_with_its_text(
    shared: Path, name: str, calls: int
) -> None:
    path = shared / "traces" / "otel" / f"{name}.json"
    if not path.exists():
        pytest.skip(f"{path.name} is not on this machine")
    requests = list(sniff(path).read(Source(path)))
    assert len(requests) == calls
    assert all(one.blocks for one in requests)
    if name == "prefix_sharing_example":
        # 50 + 45 + 100 + 180 + 270 + 380 + 40, and 20 + 15 + 50 + 60 + 70 + 55 + 10
        assert sum(one.prompt_tokens or 0 for one in requests) == 1065
        assert sum(one.output_tokens or 0 for one in requests) == 280
        parents = [one.parent_request_id for one in requests if one.parent_request_id]
        assert len(parents) == 3
