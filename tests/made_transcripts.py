"""Lines of Claude Code transcripts and Codex rollouts, made up for tests."""

from datetime import UTC, datetime, timedelta
from typing import Any

START = datetime(2026, 6, 1, 12, 0, tzinfo=UTC)
Line = dict[str, Any]


def clock(at_s: float) -> str:
    """So many seconds after START, as both clients write times."""
    moment = START + timedelta(seconds=at_s)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03}Z"


def micros(at_s: float) -> int:
    """The same as microseconds since 1970."""
    return round((START.timestamp() + at_s) * 1_000_000)


def user(at_s: float, uuid: str, parent: str | None, content: Any, **more: Any) -> Line:
    """A user line of Claude Code."""
    return {
        "type": "user", "uuid": uuid, "parentUuid": parent, "sessionId": "s1",
        "isSidechain": False, "version": "2.1.157", "timestamp": clock(at_s),
        "message": {"role": "user", "content": content},
    } | more  # fmt: skip


def tokens(fresh: int, read: int = 0, written: int = 0, output: int = 0, **more: Any) -> Line:
    """A usage of the Anthropic API, without a split of its writes."""
    return {
        "input_tokens": fresh, "cache_read_input_tokens": read,
        "cache_creation_input_tokens": written, "output_tokens": output,
    } | more  # fmt: skip


def split(m5: int, h1: int) -> Line:
    """The split of the writes."""
    return {"ephemeral_5m_input_tokens": m5, "ephemeral_1h_input_tokens": h1}


def answer(
    at_s: float, uuid: str, parent: str | None, usage: Line | None, *content: Any, **more: Any
) -> Line:
    """An assistant line of Claude Code; `id`, `stop` and `model` go into its message."""
    message: Line = {
        "id": more.pop("id", "msg_1"), "role": "assistant", "type": "message",
        "model": more.pop("model", "claude-opus-4-8"), "stop_reason": more.pop("stop", "end_turn"),
        "content": list(content),
    }  # fmt: skip
    if usage is not None:
        message["usage"] = usage
    return {
        "type": "assistant", "uuid": uuid, "parentUuid": parent, "sessionId": "s1",
        "isSidechain": False, "version": "2.1.157", "timestamp": clock(at_s),
        "requestId": "req_1", "message": message,
    } | more  # fmt: skip


def text(words: str) -> Line:
    """A text block."""
    return {"type": "text", "text": words}


def tool_use(name: str) -> Line:
    """A tool call with this id."""
    return {"type": "tool_use", "id": name, "name": "Bash", "input": {"command": name}}


def tool_result(name: str, output: str) -> Line:
    """What the tool call of this id gave."""
    return {"type": "tool_result", "tool_use_id": name, "content": output}


def without(line: Line, *names: str) -> Line:
    """`line` without these keys."""
    return {key: value for key, value in line.items() if key not in names}


def codex(at_s: float, kind: str, **payload: Any) -> Line:
    """A line of a Codex rollout."""
    return {"timestamp": clock(at_s), "type": kind, "payload": payload}


def meta(at_s: float, thread: str, **more: Any) -> Line:
    """The first line of a rollout."""
    return codex(at_s, "session_meta", **({"id": thread, "cli_version": "0.114.0"} | more))


def used(inputs: int, cached: int = 0, output: int = 0, **more: Any) -> Line:
    """A TokenUsage of Codex."""
    return {
        "input_tokens": inputs, "cached_input_tokens": cached, "output_tokens": output,
        "reasoning_output_tokens": 0, "total_tokens": inputs + output,
    } | more  # fmt: skip


def count(at_s: float, total: Line | None, last: Line | None) -> Line:
    """A token_count event."""
    info = {"total_token_usage": total, "last_token_usage": last, "model_context_window": 258400}
    return codex(at_s, "event_msg", type="token_count", info=info, rate_limits=None)


def said(at_s: float, role: str, words: str) -> Line:
    """A message among the response items."""
    kind = "output_text" if role == "assistant" else "input_text"
    return codex(
        at_s, "response_item", type="message", role=role, content=[{"type": kind, "text": words}]
    )
