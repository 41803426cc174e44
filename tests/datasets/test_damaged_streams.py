"""Streams with an event that is no JSON: what is known stays, what is not is unknown and said."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from api_calls import claude, claude_end, claude_events, pair, said, sse, usage

from cachecast_datasets.trace import Trace

TraceOf = Callable[..., Trace]
Write = Callable[..., Path]

ASK = claude(messages=[said("user", "How are you?")])
DAMAGED = 'data: {"type": "content_bl\n\n'


def test_a_damaged_event_leaves_the_answer_unknown_and_is_said(
    write: Write, import_all: Callable[..., Any]
) -> None:
    start, end = claude_events(usage(9, out=1), "Fi", "ne."), claude_end(usage(9, out=3))
    trace, summary = import_all(write(pair(ASK, sse(*start) + DAMAGED + sse(*end))))
    (request,) = trace
    assert request.observed is not None
    assert (request.observed.fresh, request.observed.output, request.status) == (9, 3, "ok")
    assert (request.answer_hash, request.output_types) == (None, None)
    assert any("an event that is no JSON object" in note for note in summary.warnings)


def test_a_stream_that_lost_its_count_has_no_output_count(trace_of: TraceOf) -> None:
    """The message_delta is damaged and message_stop came: 1 is the placeholder of the start."""
    start, stop = claude_events(usage(9, out=1), "Fine."), claude_end(usage(9, out=3))[-1]
    (request,) = trace_of(pair(ASK, sse(*start) + DAMAGED + sse(stop)))
    assert request.observed is not None
    assert (request.status, request.prompt_tokens, request.observed.output) == ("ok", 9, None)
