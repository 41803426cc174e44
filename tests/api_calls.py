"""Small made-up calls of the model APIs, for the tests of their readers."""

import json
from typing import Any

from cachecast_datasets.request import Request

OPUS = "claude-opus-5"
WHEN = "2026-11-20T10:00:00Z"


def text(content: str, ttl: str | None = None) -> dict[str, Any]:
    """A text block; with `ttl` it carries a marker."""
    block: dict[str, Any] = {"type": "text", "text": content}
    if ttl is not None:
        block["cache_control"] = {"type": "ephemeral", "ttl": ttl}
    return block


def claude(**body: Any) -> dict[str, Any]:
    """A Messages request."""
    return {"model": OPUS, "max_tokens": 1024, "messages": [], **body}


def usage(fresh: int, read: int = 0, w5: int = 0, w1h: int = 0, out: int = 10) -> dict[str, Any]:
    """An Anthropic usage object with its split."""
    return {
        "input_tokens": fresh,
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": w5 + w1h,
        "cache_creation": {"ephemeral_5m_input_tokens": w5, "ephemeral_1h_input_tokens": w1h},
        "output_tokens": out,
    }


def message(use: Any, content: Any = None, **more: Any) -> dict[str, Any]:
    """A Messages response."""
    said = [text("Fine.")] if content is None else content
    return {
        "id": "msg_1", "type": "message", "role": "assistant", "model": OPUS, "content": said,
        "stop_reason": "end_turn", "usage": use, **more,
    }  # fmt: skip


def pair(request: Any, response: Any, **more: Any) -> dict[str, Any]:
    """A row of a pair log."""
    return {"request": request, "response": response, "start_time": WHEN, **more}


def completion(use: Any, content: str | None = "Fine.", **more: Any) -> dict[str, Any]:
    """A Chat Completions response."""
    said = {"role": "assistant", "content": content}
    return {
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1_795_168_800,
        "model": "gpt-5.6-sol", "choices": [{"index": 0, "message": said, "finish_reason": "stop"}],
        "usage": use, **more,
    }  # fmt: skip


def chat(*messages: Any, **more: Any) -> dict[str, Any]:
    """A Chat Completions request."""
    return {"model": "gpt-5.6-sol", "messages": list(messages), **more}


def said(role: str, content: Any, **more: Any) -> dict[str, Any]:
    """A message."""
    return {"role": role, "content": content, **more}


def sse(*events: Any, named: bool = True, end: str = "\n\n") -> str:
    """An event stream as text; strings are data as they are."""
    parts = []
    for event in events:
        data = event if isinstance(event, str) else json.dumps(event)
        name = f"event: {event['type']}\n" if named and isinstance(event, dict) else ""
        parts.append(f"{name}data: {data}{end}")
    return "".join(parts)


def claude_events(start: dict[str, Any], *deltas: str) -> list[dict[str, Any]]:
    """message_start with a usage, then a text in pieces; nothing that ends the stream."""
    return [
        {"type": "message_start", "message": message(start, [], stop_reason=None)},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        *(
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": d}}
            for d in deltas
        ),
    ]


def claude_end(use: dict[str, Any]) -> list[dict[str, Any]]:
    """What ends a stream: the cumulative usage and the stop."""
    return [
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": use},
        {"type": "message_stop"},
    ]


def used(given: int, cached: int = 0, written: int = 0, out: int = 10) -> dict[str, Any]:
    """A Chat usage object."""
    return {
        "prompt_tokens": given, "completion_tokens": out, "total_tokens": given + out,
        "prompt_tokens_details": {"cached_tokens": cached, "cache_write_tokens": written},
    }  # fmt: skip


def response(use: Any, output: Any = (), **more: Any) -> dict[str, Any]:
    """A Responses object."""
    return {
        "id": "resp_1", "object": "response", "created_at": 1_795_168_800, "status": "completed",
        "model": "gpt-5.6-sol", "output": list(output), "usage": use, **more,
    }  # fmt: skip


def responses(items: Any, **more: Any) -> dict[str, Any]:
    """A Responses request."""
    return {"model": "gpt-5.6-sol", "input": items, **more}


def seen(request: Request) -> dict[str, int]:
    """The classes that were observed, zeros left out."""
    assert request.observed is not None
    return {k: v for k, v in request.observed._asdict().items() if isinstance(v, int) and v}
