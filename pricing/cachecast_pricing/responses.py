"""A whole response object -> the usage object inside it."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

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
_MOST_LEVELS = 100


class Found(NamedTuple):
    """A usage object; `how` says so if it stood inside a response, with that response's parts."""

    usage: Mapping[str, Any]
    how: str | None = None
    model: str | None = None
    output: Sequence[Any] = ()


def usage_of(raw: Mapping[str, Any]) -> Found:
    """The usage inside a whole response, or `raw` itself if it is a usage object.

    A response that names its service tier outside its usage keeps it. UsageError if the usage of a
    response is null, as in the events of a stream before its last, and for an endless nesting.
    """
    _check_depth(raw)
    response = _unwrapped(raw)
    if response is None:
        return Found(raw)
    named = [name for name in _USAGES if name in response]
    name = next((name for name in named if isinstance(response[name], Mapping)), named[0])
    usage = response[name]
    if usage is None:
        raise UsageError(f"{name} of this response is null, expected an object with token counts")
    inner = dict(usage)
    if "service_tier" not in inner and response.get("service_tier") is not None:
        inner["service_tier"] = response["service_tier"]
    model = next(
        (response[m] for m in ("model", "modelVersion") if _is_text(response.get(m))), None
    )
    output = response.get("output")
    return Found(
        inner,
        f"a whole response: its {name!r} is what was read",
        model,
        output if isinstance(output, list) else (),
    )


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


def _check_depth(raw: Mapping[str, Any]) -> None:
    """UsageError for an object in an object ... that no reader could follow to its end."""
    level: list[Any] = [raw]
    for _ in range(_MOST_LEVELS):
        inside: list[Any] = []
        for item in level:
            inside += item.values() if isinstance(item, Mapping) else item
        level = [item for item in inside if isinstance(item, Mapping | list)]
        if not level:
            return
    raise UsageError(f"usage is nested deeper than {_MOST_LEVELS} levels")


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())
