"""OpenAI's settings by their request path, Chat's own names brought to those of Responses."""

from collections.abc import Mapping
from typing import Any

from cachecast_datasets.prompts.parts import at_path, put, setting_text, veiled

_SETTINGS = {
    "tool_choice": "tool_choice",
    "parallel_tool_calls": "parallel_tool_calls",
    "reasoning.effort": "reasoning.effort",
    "reasoning_effort": "reasoning.effort",
    "text.verbosity": "text.verbosity",
    "verbosity": "text.verbosity",
    "prompt_cache_retention": "prompt_cache_retention",
    "prompt_cache_options.mode": "prompt_cache_options.mode",
    "prompt_cache_options.ttl": "prompt_cache_options.ttl",
    "prompt_cache_options.prewarm": "prompt_cache_options.prewarm",
}
# a schema that somebody wrote: only whether it changed is kept
_SCHEMAS = ("text.format", "response_format", "context_management")


def settings_of(body: Mapping[str, Any]) -> dict[str, str]:
    """The settings that were given; the cache key, which may name a person, as a hash."""
    settings: dict[str, str] = {}
    for path, name in _SETTINGS.items():
        put(settings, name, at_path(body, path))
    for path in _SCHEMAS:
        value = at_path(body, path)
        if value is None or value == {"type": "text"}:  # the default, spelled out
            continue
        settings[path] = setting_text(value) if _only_a_type(value) else veiled(value)
    key = body.get("prompt_cache_key")
    if key is not None:
        settings["prompt_cache_key"] = veiled(key)
    if settings.get("prompt_cache_options.prewarm") == "true":
        settings["prewarm"] = "true"
    return settings


def _only_a_type(value: Any) -> bool:
    return isinstance(value, dict) and value.keys() == {"type"}


def cache_mode(body: Mapping[str, Any]) -> str | None:
    """`implicit` or `explicit` where the request says so."""
    mode = at_path(body, "prompt_cache_options.mode")
    return mode if mode in ("implicit", "explicit") else None
