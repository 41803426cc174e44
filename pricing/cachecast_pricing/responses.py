"""A whole response object -> the usage object inside it."""

from collections.abc import Mapping
from typing import Any

from cachecast_pricing.counts import UsageError

# where responses and logged generations keep their usage, the most telling name first
_USAGES = ("usageDetails", "usage", "usageMetadata", "usage_metadata")
# what stands around a response: a batch line, a stream event, an SDK's dump
_WRAPPERS = ("response", "body", "message")
# an object with one of these, and no usage inside, is a usage object itself
_COUNTS = frozenset(
    {
        "input_tokens", "output_tokens", "prompt_tokens", "completion_tokens", "inputTokens",
        "outputTokens", "promptTokenCount", "prompt_token_count",
    }
)  # fmt: skip
_MOST_WRAPPERS = 3


def usage_of(raw: Mapping[str, Any]) -> tuple[Mapping[str, Any], str | None, str | None]:
    """(usage object, note, the response's own model); `raw` itself if it is no whole response.

    A response that names its service tier outside its usage keeps it. UsageError if the usage of a
    response is null, as in the events of a stream before its last.
    """
    response = _unwrapped(raw)
    if response is None:
        return raw, None, None
    named = [name for name in _USAGES if name in response]
    name = next((name for name in named if isinstance(response[name], Mapping)), named[0])
    usage = response[name]
    if usage is None:
        raise UsageError(f"{name} of this response is null, expected an object with token counts")
    inner = dict(usage)
    if "service_tier" not in inner and isinstance(response.get("service_tier"), str):
        inner["service_tier"] = response["service_tier"]
    model = next(
        (response[m] for m in ("model", "modelVersion") if _is_text(response.get(m))), None
    )
    return inner, f"a whole response: its {name!r} is what was read", model


def _unwrapped(raw: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The object that holds a usage, through at most three wrappers; None if there is none."""
    current: Mapping[str, Any] = raw
    for _ in range(_MOST_WRAPPERS + 1):
        found = [current[name] for name in _USAGES if name in current]
        if any(isinstance(usage, Mapping) for usage in found):
            return current
        if _COUNTS & set(current):
            return None
        if found and all(usage is None for usage in found):
            return current
        inner = next((current[w] for w in _WRAPPERS if isinstance(current.get(w), Mapping)), None)
        if inner is None:
            return None
        current = inner
    return None


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())
