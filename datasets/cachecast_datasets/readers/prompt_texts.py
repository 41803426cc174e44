"""Prompts that a usage log happens to store, as content blocks: tools, then system, then messages.

The sources say how many tokens a whole prompt has, or nothing: sizes of blocks are estimates by
UTF-8 bytes, scaled to the reported total where there is one.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from cachecast_datasets.content import hashes_of, share_out
from cachecast_datasets.log_meta import LogMeta
from cachecast_datasets.request import MARKERS, ContentBlock

TOKENIZER = "estimate: UTF-8 bytes / 4, scaled to the reported prompt where there is one"
_BYTES_PER_TOKEN = 4
_SECTIONS = {
    "system": "system", "developer": "developer", "user": "user", "human": "user",
    "assistant": "assistant", "model": "assistant", "ai": "assistant", "tool": "tool",
    "function": "tool",
}  # fmt: skip
_KINDS = {
    "tool_use": "tool_use", "tool_call": "tool_use", "function_call": "tool_use",
    "tool_result": "tool_result", "tool_call_response": "tool_result",
    "function_call_output": "tool_result", "thinking": "thinking", "reasoning": "thinking",
    "redacted_thinking": "thinking", "image": "image", "image_url": "image",
    "input_image": "image", "document": "document", "file": "document", "input_file": "document",
}  # fmt: skip
_TEXT_KEYS = ("text", "content")


class _Part(NamedTuple):
    section: str
    role: str | None
    kind: str
    message: int
    content: Any
    marker: str | None


def blocks_of(
    messages: Any, system: Any = None, tools: Any = None, total: int | None = None
) -> list[ContentBlock] | None:
    """The prompt as content blocks; None where nothing is stored. `total` is its reported size."""
    parts = [*_tools(tools), *_system(system)]
    parts.extend(_messages(messages, len({part.message for part in parts})))
    if not parts:
        return None
    weights = [_bytes(part.content) for part in parts]
    if total is None:
        sizes = [-(-weight // _BYTES_PER_TOKEN) for weight in weights]
    else:
        sizes = share_out(total, weights)
    return [_block(part, size) for part, size in zip(parts, sizes, strict=True)]


def prompt_of(body: Any, total: int | None) -> list[ContentBlock] | None:
    """The blocks of a request body, a list of messages, or a bare prompt text."""
    if isinstance(body, Mapping):
        messages = next(
            (body[key] for key in ("messages", "input", "contents") if body.get(key)), None
        )
        if messages is not None:
            system = body.get("system") or body.get("instructions")
            return blocks_of(messages, system, body.get("tools"), total)
        return blocks_of([body], total=total) if "role" in body else None
    return blocks_of(body, total=total)


def text_meta(meta: LogMeta, markers: bool) -> LogMeta:
    """What a log says of itself once prompts were found in it; `markers`: some were marked."""
    return LogMeta(
        meta.source_format, "text", carries_markers=markers, time_origin=meta.time_origin,
        tokenizer=TOKENIZER, text_seen=True,
    )  # fmt: skip


def estimated_tokens(text: str) -> int:
    """About how many tokens a text has."""
    return -(-len(text.encode(errors="surrogatepass")) // _BYTES_PER_TOKEN)


def _block(part: _Part, tokens: int) -> ContentBlock:
    hashes = hashes_of(part.content)
    return ContentBlock(
        section=part.section,
        role=part.role,
        kind=part.kind,
        message=part.message,
        tokens=tokens,
        hash=hashes.raw,
        canonical_hash=hashes.canonical,
        masked_hash=hashes.masked,
        marker=part.marker,
    )


def _bytes(content: Any) -> int:
    text = content.encode(errors="surrogatepass") if isinstance(content, str) else None
    return len(msgspec.json.encode(content) if text is None else text)


def _tools(tools: Any) -> Iterator[_Part]:
    for tool in tools if isinstance(tools, list) else ():
        content, marker = _unmarked(tool)
        yield _Part("tools", None, "tool_definition", 0, content, marker)


def _system(system: Any) -> Iterator[_Part]:
    if system:
        yield from _parts("system", "system", system, 0)


def _messages(messages: Any, first: int) -> Iterator[_Part]:
    if isinstance(messages, str):
        messages = [{"role": "user", "content": messages}] if messages else []
    for number, message in enumerate(messages if isinstance(messages, list) else ()):
        if isinstance(message, str):
            message = {"role": "user", "content": message}
        if not isinstance(message, Mapping):
            continue
        role = message.get("role")
        section = _SECTIONS.get(role, "user") if isinstance(role, str) else "user"
        content = message.get("content") or message.get("parts")
        yield from _parts(section, section, content, first + number)
        for call in message.get("tool_calls") or ():
            content, marker = _unmarked(call)
            yield _Part(section, section, "tool_use", first + number, content, marker)
        if content is None and "role" not in message:  # an item of its own (Responses input)
            kind = _KINDS.get(str(message.get("type")), "text")
            content, marker = _unmarked(message)
            yield _Part(section, section, kind, first + number, content, marker)


def _parts(section: str, role: str, content: Any, message: int) -> Iterator[_Part]:
    if content is None:
        return
    for part in content if isinstance(content, list) else [content]:
        kind = "tool_result" if section == "tool" else "text"
        if isinstance(part, Mapping):
            kind = _KINDS.get(str(part.get("type")), kind)
        inside, marker = _unmarked(part)
        yield _Part(section, role, kind, message, inside, marker)


def _unmarked(part: Any) -> tuple[Any, str | None]:
    """A part without its cache marker, and the marker: markers are no content.

    A part that is nothing but text becomes the string, so that both spellings are equal.
    """
    if not isinstance(part, Mapping):
        return part, None
    rest = {key: value for key, value in part.items() if key != "cache_control"}
    control, marker = part.get("cache_control"), None
    if isinstance(control, Mapping):
        marker = control.get("ttl") or "5m"
        marker = marker if marker in MARKERS else "5m"
    for key in _TEXT_KEYS:
        if set(rest) <= {"type", key} and isinstance(rest.get(key), str):
            return rest[key], marker
    return rest, marker
