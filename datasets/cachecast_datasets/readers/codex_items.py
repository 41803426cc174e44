"""The response items of a Codex rollout as content blocks."""

from typing import Any

from cachecast_datasets.block_path import Part
from cachecast_datasets.content import hashes_of
from cachecast_datasets.readers.anthropic_content import IMAGE_WEIGHT

_SECTIONS = ("system", "developer", "user", "assistant")


def is_output(item: dict[str, Any]) -> bool:
    """Whether the model wrote the item."""
    name = item.get("type")
    if name == "message":
        return item.get("role") == "assistant"
    return not (isinstance(name, str) and name.endswith("_output"))


def item_parts(item: dict[str, Any]) -> list[Part]:
    """The blocks of one item: a message's parts, a call, a result, a (mostly encrypted) thought."""
    name = str(item.get("type"))
    if name == "message":
        role = item.get("role")
        section = role if role in _SECTIONS else "user"
        content = item.get("content")
        pieces = content if isinstance(content, list) else [content]
        return [_message_part(piece, section) for piece in pieces if piece is not None]
    if name.endswith("_output"):
        return [_part(item, "tool", "tool", "tool_result")]
    if name == "reasoning":
        hidden = item.get("encrypted_content")
        weight = len(hidden) * 3 // 4 if isinstance(hidden, str) else None
        return [_part(item, "assistant", "assistant", "thinking", weight)]
    label = item.get("name")
    part = _part(item, "assistant", "assistant", "tool_use")
    return [part._replace(label=label) if isinstance(label, str) else part]


def instructions_part(text: str) -> Part:
    """The base instructions."""
    return Part("system", "system", "text", len(text), *hashes_of(text), "base instructions")


def _message_part(piece: Any, section: str) -> Part:
    if isinstance(piece, dict):
        if isinstance(piece.get("text"), str):
            text = piece["text"]
            return Part(section, section, "text", len(text), *hashes_of(text))
        if piece.get("type") == "input_image":
            return _part(piece, section, section, "image", IMAGE_WEIGHT)
    return _part(piece, section, section, "text")


def _part(value: Any, section: str, role: str, kind: str, weight: int | None = None) -> Part:
    hashes = hashes_of(value)
    return Part(section, role, kind, len(str(value)) if weight is None else weight, *hashes)
