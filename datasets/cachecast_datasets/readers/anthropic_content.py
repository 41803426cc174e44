"""Message content of the Anthropic Messages API as content blocks."""

from collections.abc import Iterator
from typing import Any

import msgspec
import xxhash

from cachecast_datasets.block_path import Part
from cachecast_datasets.content import hashes_of
from cachecast_datasets.shown import shown

IMAGE_WEIGHT = 6_000  # characters: about 1,500 tokens, whatever the file's size
_LETTERS = str.maketrans("0123456789abcdef", "ghijklmnopqrstuv")  # nothing that a mask would hide
_KINDS = {
    "text": "text", "thinking": "thinking", "redacted_thinking": "thinking", "image": "image",
    "document": "document", "tool_use": "tool_use", "server_tool_use": "tool_use",
    "tool_result": "tool_result",
}  # fmt: skip


def parts_of(content: Any, role: str) -> Iterator[Part]:
    """The blocks of a message's content: a string, or a list of blocks. ValueError if neither."""
    if isinstance(content, str):
        content = [content]
    if not isinstance(content, list):
        raise ValueError(f"content is {shown(content)}, expected a string or an array")
    for item in content:
        if isinstance(item, str):
            yield _text(item, role)
        elif isinstance(item, dict):
            yield _part(item, role)
        else:
            raise ValueError(f"content holds {shown(item)}, expected strings or objects")


def plain_part(value: Any, role: str, label: str | None = None) -> Part:
    """Anything else that the client puts into a prompt, as text."""
    return _hashed(value, role, role, "text", label)


def _text(text: str, role: str) -> Part:
    hashes = hashes_of(text)
    return Part(role, role, "text", len(text), *hashes)


def _part(item: dict[str, Any], role: str) -> Part:
    name = item.get("type")
    if name == "text" and isinstance(item.get("text"), str):
        return _text(item["text"], role)
    kind = _KINDS.get(name, "text") if isinstance(name, str) else "text"
    if isinstance(name, str) and name.endswith("_tool_result"):
        kind = "server_tool_result"
    section = "tool" if kind == "tool_result" else role
    label = item.get("name") if kind == "tool_use" else None
    return _hashed(item, section, role, kind, label if isinstance(label, str) else None)


def _hashed(value: Any, section: str, role: str, kind: str, label: str | None) -> Part:
    value, hidden = _without_files(value)
    weight = len(value) if isinstance(value, str) else len(msgspec.json.encode(value))
    return Part(section, role, kind, weight + hidden, *hashes_of(value), label)


def _without_files(value: Any) -> tuple[Any, int]:
    """`value` with the data of images and documents as hashes, and the weight for them."""
    if isinstance(value, list):
        pairs = [_without_files(item) for item in value]
        return [item for item, _ in pairs], sum(weight for _, weight in pairs)
    if not isinstance(value, dict):
        return value, 0
    data = value.get("data")
    if isinstance(data, str) and len(data) > 256 and ("media_type" in value or "base64" in value):
        digest = xxhash.xxh3_128_hexdigest(data.encode(errors="surrogatepass"))
        return {**value, "data": digest.translate(_LETTERS)}, IMAGE_WEIGHT
    made, total = value, 0
    for key in ("source", "content"):
        inner = value.get(key)
        if isinstance(inner, dict | list):
            kept, weight = _without_files(inner)
            if weight:
                made, total = {**made, key: kept}, total + weight
    return made, total
