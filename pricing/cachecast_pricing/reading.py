"""Any API's own usage object -> disjoint token classes."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from cachecast_datasets.errors import BadInput
from cachecast_pricing.apis import (
    anthropic,
    bedrock_converse,
    deepseek,
    gemini,
    kimi,
    langfuse,
    litellm,
    openai_chat,
    openai_responses,
    openai_usage,
    openrouter,
    otel,
    qwen,
    xai,
)  # fmt: skip
from cachecast_pricing.counts import shown, shown_names
from cachecast_pricing.missing_counts import nearest, require_counts
from cachecast_pricing.usage_reading import Api, Semantics, UsageReading

__all__ = ["APIS", "Semantics", "UsageReading", "detect_api", "read_usage"]

# a new API is one module in apis/ and one line here
APIS: dict[str, Api] = {
    "anthropic": anthropic,
    "openai-chat": openai_chat,
    "openai-responses": openai_responses,
    "gemini": gemini,
    "deepseek": deepseek,
    "bedrock-converse": bedrock_converse,
    "openai-usage": openai_usage,
    "openrouter": openrouter,
    "otel": otel,
    "langfuse": langfuse,
    "codex": openai_responses,
    "fireworks": kimi,
    "glm": kimi,
    "groq": kimi,
    "kimi": kimi,
    "langchain": litellm,
    "litellm": litellm,
    "mistral": kimi,
    "qwen": qwen,
    "together": kimi,
    "xai": xai,
}

# who speaks an OpenAI-shaped API with conventions of their own
_CHAT_OF_PROVIDER = {
    "alibaba": "qwen", "deepseek": "deepseek", "fireworks": "fireworks", "groq": "groq",
    "mistral": "mistral", "moonshot": "kimi", "xai": "xai", "zai": "glm",
}  # fmt: skip


def read_usage(api: str, raw: Mapping[str, Any]) -> UsageReading:
    """The usage that `raw` states under the conventions of `api`.

    Raises BadInput for an unknown API (listing the known ones), for an object without an input
    count of that API, for a count that is negative, fractional or no number, and for numbers that
    contradict each other.
    """
    name = api.strip().lower().replace("_", "-")
    module = APIS.get(name)
    if module is None:
        raise BadInput(f"unknown API {api!r}; known: {', '.join(APIS)}")
    if not isinstance(raw, Mapping):
        raise BadInput(f"usage is {shown(raw)}, expected a JSON object")
    fields = {known: other.FIELDS for known, other in APIS.items()}
    reading = require_counts(name, raw, fields, module.read)
    overlooked = [] if reading.usage.cache_read or reading.usage.cache_write else _cached(raw)
    if not overlooked or reading.unknown:
        return reading
    note = f"{shown_names(overlooked)}: not a field of the API {api}, so nothing cached was counted"
    return replace(reading, notes=(*reading.notes, note))


def _cached(raw: Mapping[str, Any], path: str = "") -> list[str]:
    """The fields anywhere in `raw` that speak of the cache and are not zero."""
    found = []
    for name, value in raw.items():
        if isinstance(value, Mapping):
            found += _cached(value, f"{path}{name}.")
        elif "cach" in name.lower() and isinstance(value, int | float) and value:
            found.append(path + name)
    return found


def detect_api(raw: Mapping[str, Any], provider: str | None = None) -> str:
    """The API that writes objects of this shape; `provider` decides between equal shapes.

    Raises BadInput if no known field is there.
    """
    names = set(raw)
    if any(name.startswith(("gen_ai.", "llm.token_count.", "ai.usage.")) for name in names):
        return "otel"
    for api, marks in _MARKS:
        if names & marks:
            return api
    if names & {"prompt_tokens", "completion_tokens"}:
        return _chat_api(raw, provider)
    if names & {"input_tokens", "output_tokens", "uncached_input_tokens"}:
        return _messages_or_responses(raw, provider)
    if names & {"cache_creation_input_tokens", "cache_read_input_tokens", "cache_creation"}:
        return "anthropic"  # nothing but cached tokens: the classes left out are 0
    if names & {"input", "output"}:
        return "gemini" if names & {"cached", "thoughts"} else "langfuse"
    meant = nearest(names, frozenset().union(*(module.FIELDS.all for module in APIS.values())))
    raise BadInput(
        f"usage has none of the known fields, only {shown_names(names)}; "
        + (f"did you mean {meant}? " if meant else "")
        + f"name its API with --api: {', '.join(APIS)}"
    )


# fields that only one API writes, the most telling first
_MARKS: tuple[tuple[str, frozenset[str]], ...] = (
    ("gemini", frozenset({
        "promptTokenCount", "candidatesTokenCount", "totalTokenCount", "usageMetadata",
        "usage_metadata", "prompt_token_count", "candidates_token_count", "total_input_tokens",
    })),
    ("bedrock-converse", frozenset({"inputTokens", "outputTokens", "inputTokenCount"})),
    ("deepseek", frozenset({"prompt_cache_hit_tokens", "prompt_cache_miss_tokens"})),
    ("xai", frozenset({"cost_in_usd_ticks"})),
    ("openrouter", frozenset({"cost_details", "is_byok"})),
    ("codex", frozenset({"cached_input_tokens", "cache_write_input_tokens"})),
    ("openai-usage", frozenset({"num_model_requests", "input_uncached_tokens"})),
    ("langfuse", frozenset({
        "input_cached_tokens", "input_cache_read", "input_cache_creation", "input_cache_write",
        "input_cache_creation_5m", "input_cache_creation_1h",
    })),
)  # fmt: skip


def _chat_api(raw: Mapping[str, Any], provider: str | None) -> str:
    """Which OpenAI-chat-shaped API this is."""
    if "cost" in raw:
        return "openrouter"
    if provider in _CHAT_OF_PROVIDER:
        return _CHAT_OF_PROVIDER[provider]
    if provider == "openai":
        return "openai-chat"
    details = raw.get("prompt_tokens_details")
    inner = set(details) if isinstance(details, Mapping) else set()
    if set(raw) & {"cache_read_input_tokens", "cache_creation_input_tokens"} or inner & {
        "cache_creation_tokens"
    }:
        return "litellm"
    if "cache_creation_input_tokens" in inner:
        return "qwen"
    # the shape says no lifetime; only OpenAI's own models write for 30 minutes
    return "openai-chat" if provider is None else "litellm"


def _messages_or_responses(raw: Mapping[str, Any], provider: str | None) -> str:
    """Anthropic Messages, OpenAI Responses or LangChain, which share two field names."""
    names = set(raw)
    if names & {
        "cache_read_input_tokens", "cache_creation_input_tokens", "cache_creation", "iterations",
        "server_tool_use", "uncached_input_tokens",
    }:  # fmt: skip
        return "anthropic"
    details = raw.get("input_token_details")
    if isinstance(details, Mapping) and set(details) & {"cache_read", "cache_creation"}:
        return "langchain"
    if names & {"input_tokens_details", "input_token_details", "cached_tokens"}:
        return "xai" if provider == "xai" else "openai-responses"
    if provider in _CHAT_OF_PROVIDER:
        return _CHAT_OF_PROVIDER[provider]
    return "openai-responses" if provider == "openai" else "anthropic"
