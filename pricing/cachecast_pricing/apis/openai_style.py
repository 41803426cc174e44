"""What the OpenAI-shaped APIs share: one reader, told which fields and conventions differ."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from cachecast_pricing.apis.anthropic import with_tier
from cachecast_pricing.conventions import Parts, Writes, decide, writes_beside_split
from cachecast_pricing.counts import Fields
from cachecast_pricing.usage_reading import CountFields, UsageReading

_INPUT = ("prompt_tokens", "input_tokens")
_OUTPUT = ("completion_tokens", "output_tokens")
_INPUT_DETAILS = (
    "prompt_tokens_details", "input_tokens_details", "input_token_details", "prompt_token_details",
)  # fmt: skip
_OUTPUT_DETAILS = (
    "completion_tokens_details", "output_tokens_details", "output_token_details",
)  # fmt: skip
_READ_INSIDE = ("cached_tokens", "cache_read", "cache_read_tokens")
_READ_ON_TOP = ("cached_tokens", "cached_input_tokens", "cache_read_input_tokens")
_WRITE_INSIDE = (
    "cache_write_tokens", "cache_creation_tokens", "cache_creation_input_tokens", "cache_creation",
)  # fmt: skip
_SPLIT = ("ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens")
_WRITE_ON_TOP = ("cache_write_tokens", "cache_write_input_tokens", "cache_creation_input_tokens")
FIELDS = CountFields(_INPUT, _OUTPUT, cached=(*_READ_ON_TOP, *_WRITE_ON_TOP))


@dataclass(frozen=True, slots=True)
class Style:
    """How one API differs: the lifetime of its writes, and where reasoning is counted.

    `write` None means that the API has no write class.
    """

    write: str | None = "unknown"
    reasoning_beside_output: bool = False


def read_as(raw: Mapping[str, Any], style: Style) -> UsageReading:
    """An inclusive usage object: prompt_tokens (or input_tokens) contains read and written."""
    fields = Fields(raw)
    details = fields.inner(*_INPUT_DETAILS)
    null_details = fields.is_null(*_INPUT_DETAILS)
    cached = _inner_or_top(fields, details, null_details, _READ_INSIDE, _READ_ON_TOP)
    written: int | None = 0
    if style.write is not None:
        written = _inner_or_top(fields, details, null_details, _WRITE_INSIDE, _WRITE_ON_TOP)
    output_details = fields.inner(*_OUTPUT_DETAILS)
    reasoning = fields.optional("reasoning_tokens", "reasoning_output_tokens")
    if output_details is not None and output_details.has("reasoning_tokens", "reasoning"):
        reasoning = output_details.optional("reasoning_tokens", "reasoning")
    parts = Parts(
        input=fields.first(*_INPUT),
        read=cached,
        output=fields.first(*_OUTPUT),
        writes=_writes(written, details, style),
        total=fields.optional("total_tokens"),
        reasoning=reasoning,
    )
    if style.reasoning_beside_output:
        null = reasoning is None and fields.is_null(*_OUTPUT_DETAILS)
        parts = _with_reasoning(parts, null)
    return with_tier(decide(parts, "inclusive", ("additive",)), fields)


def _inner_or_top(
    fields: Fields, details: Fields | None, null_details: bool,
    inside: tuple[str, ...], on_top: tuple[str, ...],
) -> int | None:  # fmt: skip
    """The count in the details object, else the one on top; never both together."""
    if details is not None and details.has(*inside):
        return details.first(*inside)
    if fields.has(*on_top):
        return fields.first(*on_top)
    if null_details or (details is not None and details.is_null(*inside)):
        return None
    return fields.first(*on_top)


def _writes(written: int | None, details: Fields | None, style: Style) -> Writes:
    """Written tokens under the API's lifetime, or under those that the details object names."""
    if style.write == "unknown" and details is not None:
        split = details.inner("cache_creation_token_details") or details
        if split.has(*_SPLIT):
            return writes_beside_split(written, split.first(_SPLIT[0]), split.first(_SPLIT[1]))
    if written is None:
        return Writes(null=True)
    match style.write:
        case "5m":
            return Writes(m5=written)
        case "30m":
            return Writes(m30=written)
        case _:
            return Writes(unknown=written)


def _with_reasoning(parts: Parts, null: bool) -> Parts:
    """Reasoning joins the output, unless the object's own total says that it is in there."""
    if parts.output is None or not (parts.reasoning or null):
        return parts
    rest = None
    if parts.total is not None and parts.input is not None:
        rest = parts.total - parts.input - parts.output
    if null and (rest is None or rest < 0):
        return replace(parts, more_output=True)
    if null and rest is not None:
        return replace(parts, output=parts.output + rest, reasoning=rest)
    if rest == 0:
        note = "the total says that output has reasoning in it"
        return replace(parts, notes=(*parts.notes, note))
    return replace(parts, output=parts.output + (parts.reasoning or 0))
