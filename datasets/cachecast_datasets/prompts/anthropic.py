"""Anthropic Messages: tools, then system, then messages; a marker is `cache_control`.

Source: platform.claude.com prompt caching, 2026-08-22 and the newer edition of 2026-09;
anthropic-sdk-python types, 2026-08.
"""

from collections.abc import Mapping
from typing import Any

from cachecast_datasets.prompts.parts import (
    Part,
    Rendered,
    as_json,
    at_path,
    inner_text,
    objects,
    plain_text,
    put,
    text_of,
    text_value,
    veiled,
    without_markers,
)

_SETTINGS = ("output_config.effort", "speed")
_SCHEMAS = ("output_config.format", "context_management", "mcp_servers")
_TOGGLES = ("web_search", "web_fetch")
_MEDIA = {
    "image": "image", "document": "document", "container_upload": "document",
    "search_result": "document",
}  # fmt: skip


def rendered(body: Mapping[str, Any]) -> Rendered:
    """The prompt of a request body. ValueError, with the place, for what cannot be one."""
    made = Rendered()
    _Walk(made).walk(body)
    _settings(body, made)
    made.ends = [(i, p.marker) for i, p in enumerate(made.parts) if p.marker is not None]
    automatic = body.get("cache_control")
    if isinstance(automatic, dict):
        life = _lifetime(automatic)
        made.cache_mode = "auto:1h" if life == "1h" else "auto"
        _automatic_end(made, life)
    return made


class _Walk:
    """One pass over a body; knows the running message index."""

    def __init__(self, made: Rendered) -> None:
        self.made = made
        self.message = -1

    def walk(self, body: Mapping[str, Any]) -> None:
        tools = list(objects(body.get("tools"), "tools"))
        self.message += bool(tools)
        for _, tool in tools:
            self._tool(tool)
        system = body.get("system")
        if system is not None:
            self.message += 1
            self._content(system, "system", "system", "system")
        for where, message in objects(body.get("messages"), "messages"):
            self.message += 1
            role = text_of(message.get("role"), f"{where}.role")
            if role not in ("user", "assistant", "system"):
                raise ValueError(f"{where}.role is {role!r}, expected user, assistant or system")
            self._content(message.get("content"), role, role, f"{where}.content")

    def _tool(self, tool: Mapping[str, Any]) -> None:
        if tool.get("defer_loading") is True:  # outside the prefix until it is loaded
            return
        value = without_markers(tool)
        name = tool.get("name")
        self._add("tools", None, "tool_definition", value, as_json(value), tool, name)
        kind = tool.get("type")
        for toggle in _TOGGLES:
            if isinstance(kind, str) and kind.startswith(toggle):
                self.made.settings[toggle] = "on"

    def _content(self, content: Any, section: str, role: str, where: str) -> None:
        if isinstance(content, str):
            self._add(section, role, "text", content, content, {})
            return
        for place, block in objects(content, where):
            self._block(block, section, role, place)

    def _block(self, block: Mapping[str, Any], section: str, role: str, where: str) -> None:
        kind = text_of(block.get("type"), f"{where}.type")
        if kind == "text":
            text = text_of(block.get("text"), f"{where}.text")
            self._add(section, role, "text", text_value(block, text), text, block)
            return
        value = without_markers(block)
        if kind == "compaction":
            # the API drops everything before the latest compaction from the messages
            self.made.parts = [p for p in self.made.parts if p.section in ("tools", "system")]
            self._add(section, role, "text", value, inner_text(block.get("content")), block)
        elif kind in ("thinking", "redacted_thinking"):
            text = str(block.get("thinking") or block.get("data") or "")
            self._add(section, role, "thinking", value, text, {})
        elif kind in ("tool_use", "server_tool_use", "mcp_tool_use"):
            text = f"{block.get('name')} {as_json(block.get('input'))}"
            self._add(section, role, "tool_use", value, text, block, block.get("name"))
        elif kind == "tool_result":
            text = inner_text(value.get("content"))
            self._add("tool", role, "tool_result", value, text, block)
        elif kind.endswith("_tool_result"):
            text = inner_text(value.get("content"))
            self._add(section, role, "server_tool_result", value, text, block)
        elif kind in _MEDIA:
            if at_path(block, "citations.enabled") is True:
                self.made.settings["citations"] = "on"
            text = plain_text(block) or inner_text(block.get("source"))
            self._add(section, role, _MEDIA[kind], value, text, block)
        else:
            self.made.notes.append(f"content of the unknown type {kind[:40]!r} is read as text")
            self._add(section, role, "text", value, as_json(value), block)

    def _add(
        self, section: str, role: str | None, kind: str, value: Any, text: str,
        marked: Mapping[str, Any], name: Any = None,
    ) -> None:  # fmt: skip
        label = name if isinstance(name, str) else None
        marker = _marker(marked)
        self.made.parts.append(Part(section, role, kind, self.message, value, text, marker, label))


def _marker(block: Mapping[str, Any]) -> str | None:
    """The block's own marker, else one inside it: it holds for the whole block."""
    control = block.get("cache_control")
    if isinstance(control, dict):
        return _lifetime(control)
    inner = block.get("content")
    if isinstance(inner, list):
        found = [_marker(item) for item in inner if isinstance(item, dict)]
        return next((marker for marker in reversed(found) if marker), None)
    return None


def _lifetime(control: Mapping[str, Any]) -> str:
    return "1h" if control.get("ttl") == "1h" else "5m"


def _automatic_end(made: Rendered, life: str) -> None:
    """Automatic mode marks the last block that can hold a marker."""
    for index in range(len(made.parts) - 1, -1, -1):
        part = made.parts[index]
        if part.kind != "thinking" and part.text:
            if not made.ends or made.ends[-1][0] != index:
                made.ends = [*[end for end in made.ends if end[0] < index], (index, life)]
            return


def _settings(body: Mapping[str, Any], made: Rendered) -> None:
    settings = made.settings
    choice = body.get("tool_choice")
    if isinstance(choice, dict):
        plain = {k: v for k, v in choice.items() if k != "disable_parallel_tool_use"}
        put(settings, "tool_choice", plain)
        put(
            settings,
            "tool_choice.disable_parallel_tool_use",
            choice.get("disable_parallel_tool_use"),
        )
    else:
        put(settings, "tool_choice", choice)
    put(settings, "thinking", body.get("thinking"))
    for path in _SETTINGS:
        put(settings, path, at_path(body, path))
    for path in _SCHEMAS:
        value = at_path(body, path)
        if value is not None:
            settings[path] = veiled(value)
    put(settings, "stream", body.get("stream"))
    if body.get("max_tokens") == 0:
        settings["prewarm"] = "true"
