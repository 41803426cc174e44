"""TraceLab rounds: one line per model call of a Claude Code or Codex session, with the provider's
cache counters. `derived_round_trace.jsonl` and `sanitized_round_trace.jsonl` are both read.

Claude: input = uncached + creation + read. Codex: input = prefix (read) + newly appended.
Format: TraceLab, University of Washington; read 2026-11.
"""

from collections.abc import Iterator
from typing import Any

from cachecast_datasets.readers.fields import Fields, moment_us, seconds_between
from cachecast_datasets.readers.reader import Head, Reader
from cachecast_datasets.readers.rows import read_rows
from cachecast_datasets.readers.token_classes import Counts, classes, report
from cachecast_datasets.request import Request
from cachecast_datasets.request_log import LogMeta
from cachecast_datasets.source import Source

_PROVIDERS = {"claude": "anthropic", "codex": "openai"}
_INPUTS = {"user_message": "text", "tool_result": "tool_result"}
_OUTPUTS = {"reasoning": "thinking", "text": "text", "tool_call": "tool_use"}
_CLAUDE = (
    "claude_uncached_input_tokens", "claude_cache_creation_input_tokens",
    "claude_cache_read_input_tokens",
)  # fmt: skip


def read(source: Source) -> Iterator[Request]:
    """One request a round."""
    for row in read_rows(source):
        try:
            yield _request(Fields(row.raw), row.number)
        except ValueError as problem:
            source.bad(row.fault(str(problem)))


def _request(row: Fields, number: int) -> Request:
    provider = row.text("provider")
    session = row.text("session_id")
    start_us, first_us, last_us, inputs, outputs = _times(row)
    request = Request(
        request_id=_id(row, session),
        arrival_us=start_us,
        arrival_uncertainty_s=seconds_between(start_us, first_us),
        end_s=seconds_between(start_us, last_us),
        session_id=session,
        provider=None if provider is None else _PROVIDERS.get(provider, provider),
        platform="first-party",
        model=row.text("model"),
        input_types=inputs,
        output_types=outputs,
        response_id=row.text("round_id"),
        source_line=number,
    )
    report(request, classes(_counts(row), "inclusive", _usage(row)))
    return request


def _id(row: Fields, session: str | None) -> str:
    given = row.text("trace_key")
    if given is not None:
        return given
    index = row.text("round_index")
    if session is None or index is None:
        raise ValueError("trace_key is missing, expected it or session_id and round_index")
    return f"{session}:{index}"


def _usage(row: Fields) -> dict[str, Any]:
    names = (name for name in row.raw if name.endswith(("_tokens_total", "_tokens")))
    return {name: row.raw[name] for name in names}


def _counts(row: Fields) -> Counts:
    """The counts as an inclusive usage. ValueError where the parts are not the whole."""
    whole = row.optional("input_tokens_total")
    prefix, appended = row.optional("prefix_tokens"), row.optional("newly_append_tokens")
    fresh, written, read_tokens = (row.optional(name) for name in _CLAUDE)
    if None not in (fresh, written, read_tokens):
        parts, names = (fresh, written, read_tokens), _CLAUDE
    elif None not in (prefix, appended):
        parts, names = (appended, 0, prefix), ("newly_append_tokens", "prefix_tokens", "")
    else:
        raise ValueError("prefix_tokens is missing, expected prefix_tokens and newly_append_tokens")
    total = sum(part or 0 for part in parts)
    if whole is not None and whole != total:
        spelled = " + ".join(name for name in names if name)
        raise ValueError(f"input_tokens_total is {whole}, expected {total} as {spelled}")
    return Counts(
        input=total,
        read=parts[2],
        output=row.optional("output_tokens"),
        write=parts[1],
        reasoning=row.optional("reasoning_output_tokens"),
    )


def _times(row: Fields) -> tuple[int, int | None, int | None, list[str], list[str]]:
    """(last input, first output, last event, kinds of inputs, kinds of outputs).

    A request was sent after its last input was written and before its first output was.
    """
    events = row.value("timing_events")
    if not isinstance(events, list) or not events:
        raise ValueError("timing_events is missing, expected the round's events with their times")
    inputs: list[tuple[int, str]] = []
    outputs: list[tuple[int, str]] = []
    last_us = 0
    for number, event in enumerate(events):
        if not isinstance(event, dict):
            raise ValueError(f"timing_events[{number}] is no object, expected an event")
        path = f"timing_events[{number}]."
        at_us = moment_us(event.get("timestamp"), f"{path}timestamp")
        kind = Fields(event, path).text("event_type") or ""
        last_us = max(last_us, at_us)
        if kind in _INPUTS:
            inputs.append((at_us, _INPUTS[kind]))
        elif kind in _OUTPUTS:
            outputs.append((at_us, _OUTPUTS[kind]))
    first_us = min((at_us for at_us, _ in outputs), default=None)
    sent = [at_us for at_us, _ in inputs if first_us is None or at_us <= first_us]
    start_us = max(sent, default=first_us if first_us is not None else last_us)
    return start_us, first_us, last_us, [k for _, k in inputs], [k for _, k in outputs]


def _recognises(head: Head) -> bool:
    return {"input_tokens_total", "newly_append_tokens", "timing_events"} <= head.fields


READER = Reader(
    name="tracelab",
    description='TraceLab round JSONL ({"round_id", "input_tokens_total", "timing_events", …})',
    recognises=_recognises,
    read=read,
    meta=LogMeta("tracelab", "counts", carries_markers=False, time_origin="absolute"),
    became={
        "trace_key": "request_id (else session_id and round_index)",
        "session_id": "session_id",
        "provider": "provider (claude: anthropic, codex: openai)",
        "model": "model",
        "round_id": "response_id",
        "timing_events": "arrival (the last input), its uncertainty (until the first output), end, "
        "input_types, output_types",
        "claude_uncached_input_tokens": "observed.fresh",
        "claude_cache_creation_input_tokens": "observed.cache_write_unknown",
        "claude_cache_read_input_tokens, prefix_tokens (Codex)": "observed.cache_read",
        "newly_append_tokens (Codex)": "observed.fresh",
        "input_tokens_total": "prompt_tokens, checked against its parts",
        "output_tokens, reasoning_output_tokens": "observed.output, observed.output_reasoning",
        "project, session_file, round_index, tools, current_*, first_input_event_type, home, user, "
        "store, turn_id, cwd": "not used",
    },
    cannot_tell=(
        "what the prompts said, so no cache can be simulated",
        "how long written entries live (5 minutes or 1 hour)",
        "when the first token came: lines are written when a block ends",
        "cache writes of OpenAI models",
        "the account",
    ),
)
