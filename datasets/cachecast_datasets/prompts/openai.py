"""OpenAI Chat Completions and Responses: tools, instructions, then messages or input items.

A marker is `prompt_cache_breakpoint` on a content part; gateways also pass Anthropic's
`cache_control` through. Source: developers.openai.com prompt caching guide, 2026-10-02;
openai-python types @e43b4224.
"""

from collections.abc import Mapping
from typing import Any

from cachecast_datasets.prompts.openai_settings import cache_mode, settings_of
from cachecast_datasets.prompts.parts import (
    MARKER_KEYS,
    Part,
    Rendered,
    as_json,
    inner_text,
    objects,
    text_of,
    text_value,
    without_markers,
)

_TEXT = ("text", "input_text", "output_text")
_MEDIA = {
    "image_url": "image", "input_image": "image", "input_audio": "document", "file": "document",
    "input_file": "document", "computer_screenshot": "image",
}  # fmt: skip
_ROLES = ("system", "developer", "user", "assistant", "tool", "function")
# a request with one of these has text that only the server knows
ON_THE_SERVER = ("previous_response_id", "conversation", "prompt")


def rendered_chat(body: Mapping[str, Any]) -> Rendered:
    """The prompt of a Chat Completions body. ValueError for what cannot be one."""
    made = Rendered(settings=settings_of(body), cache_mode=cache_mode(body))
    walk = _Walk(made)
    walk.tools(body.get("tools"), body.get("functions"))
    for where, message in objects(body.get("messages"), "messages"):
        walk.chat_message(message, where)
    _ends(made)
    return made


def rendered_responses(body: Mapping[str, Any]) -> Rendered:
    """The prompt of a Responses body; incomplete where a part of it lies on the server."""
    made = Rendered(settings=settings_of(body), cache_mode=cache_mode(body))
    for name in ON_THE_SERVER:
        if body.get(name) is not None:
            made.incomplete = name
    walk = _Walk(made)
    walk.tools(body.get("tools"), None)
    instructions = body.get("instructions")
    if isinstance(instructions, str):
        walk.message += 1
        walk.add("system", "system", "text", instructions, instructions, {})
    elif instructions is not None:
        walk.items(instructions, "instructions")
    items = body.get("input")
    if isinstance(items, str):
        walk.message += 1
        walk.add("user", "user", "text", items, items, {})
    else:
        walk.items(items, "input")
    _ends(made)
    return made


def _ends(made: Rendered) -> None:
    """Where an entry is asked for: at explicit breakpoints and, in implicit mode, at the end."""
    made.ends = [(i, p.marker) for i, p in enumerate(made.parts) if p.marker is not None]
    last = len(made.parts) - 1
    if made.cache_mode == "explicit" or any(life in ("5m", "1h") for _, life in made.ends):
        return
    if last >= 0 and made.parts[last].section in ("user", "tool"):
        made.ends = [*[end for end in made.ends if end[0] < last], (last, "30m")]


class _Walk:
    """One pass over a body; knows the running message index."""

    def __init__(self, made: Rendered) -> None:
        self.made = made
        self.message = -1

    def tools(self, tools: Any, functions: Any) -> None:
        found = [*objects(tools, "tools"), *objects(functions, "functions")]
        self.message += bool(found)
        for _, tool in found:
            if tool.get("defer_loading") is True:
                continue
            inner = tool.get("function")
            name = inner.get("name") if isinstance(inner, dict) else tool.get("name")
            value = without_markers(tool)
            self.add("tools", None, "tool_definition", value, as_json(value), tool, name)

    def chat_message(self, message: Mapping[str, Any], where: str) -> None:
        self.message += 1
        role = text_of(message.get("role"), f"{where}.role")
        if role not in _ROLES:
            raise ValueError(f"{where}.role is {role[:40]!r}, expected one of {', '.join(_ROLES)}")
        content = message.get("content")
        if role in ("tool", "function"):
            value = without_markers({k: message[k] for k in message if k != "role"})
            self.add("tool", role, "tool_result", value, inner_text(content), message)
            return
        thought = message.get("reasoning_content")
        if isinstance(thought, str) and thought:
            self.add(role, role, "thinking", {"type": "thinking", "text": thought}, thought, {})
        self.content(content, role, f"{where}.content", message)
        for place, call in objects(message.get("tool_calls"), f"{where}.tool_calls"):
            self._call(call, call.get("function"), place)
        if isinstance(message.get("function_call"), dict):
            self._call(message["function_call"], message["function_call"], where)

    def _call(self, call: Mapping[str, Any], inner: Any, where: str) -> None:
        name = inner.get("name") if isinstance(inner, dict) else None
        self.add("assistant", "assistant", "tool_use", dict(call), as_json(call), {}, name)

    def content(self, content: Any, role: str, where: str, whole: Mapping[str, Any]) -> None:
        if content is None:
            return
        if isinstance(content, str):
            self.add(role, role, "text", content, content, whole)
            return
        for place, part in objects(content, where):
            kind = text_of(part.get("type"), f"{place}.type")
            if kind in _TEXT:
                text = text_of(part.get("text"), f"{place}.text")
                self.add(role, role, "text", text_value(part, text), text, part)
            elif kind == "refusal":
                self.add(role, role, "text", without_markers(part), inner_text(part), part)
            elif kind in _MEDIA:
                self.add(role, role, _MEDIA[kind], without_markers(part), inner_text(part), part)
            else:
                self._unknown(kind)
                self.add(role, role, "text", without_markers(part), as_json(part), part)

    def items(self, items: Any, where: str) -> None:
        for place, item in objects(items, where):
            self.message += 1
            self._item(item, place)

    def _item(self, item: Mapping[str, Any], where: str) -> None:
        kind = text_of(item.get("type", "message"), f"{where}.type")
        value = without_markers(item)
        if kind == "message":
            role = text_of(item.get("role"), f"{where}.role")
            if role not in _ROLES[:4]:
                expected = ", ".join(_ROLES[:4])
                raise ValueError(f"{where}.role is {role[:40]!r}, expected one of {expected}")
            self.content(item.get("content"), role, f"{where}.content", item)
        elif kind == "item_reference":
            self.made.incomplete = "item_reference"
        elif kind.endswith("_output"):
            self.add("tool", "tool", "tool_result", value, inner_text(item.get("output")), item)
        elif kind.endswith("_call"):
            self.add("assistant", "assistant", "tool_use", value, as_json(value), {},
                     item.get("name"))  # fmt: skip
        elif kind == "reasoning":
            text = inner_text(item.get("summary")) + str(item.get("encrypted_content") or "")
            self.add("assistant", "assistant", "thinking", value, text, {})
        elif kind == "compaction":
            text = str(item.get("encrypted_content") or "")
            self.add("assistant", "assistant", "text", value, text, {})
        else:
            self._unknown(kind)
            self.add("developer", None, "text", value, as_json(value), {})

    def _unknown(self, kind: str) -> None:
        self.made.notes.append(f"content of the unknown type {kind[:40]!r} is read as text")

    def add(
        self, section: str, role: str | None, kind: str, value: Any, text: str,
        marked: Mapping[str, Any], name: Any = None,
    ) -> None:  # fmt: skip
        """One more part; `marked` is the object that may carry its marker."""
        label = name if isinstance(name, str) else None
        self.made.parts.append(
            Part(section, role, kind, self.message, value, text, _marker(marked), label)
        )


def _marker(marked: Mapping[str, Any]) -> str | None:
    """A breakpoint, or a gateway's `cache_control`; also on a part inside a tool's answer."""
    if isinstance(marked.get(MARKER_KEYS[1]), dict):
        return "breakpoint"
    control = marked.get(MARKER_KEYS[0])
    if isinstance(control, dict):
        return "1h" if control.get("ttl") == "1h" else "5m"
    for name in ("output", "content"):
        inner = marked.get(name)
        if isinstance(inner, list):
            found = [_marker(part) for part in inner if isinstance(part, dict)]
            if any(found):
                return next(marker for marker in reversed(found) if marker)
    return None
