"""`usageDetails` of one Langfuse generation, in all its spellings, and `costDetails`."""

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any

from cachecast_datasets.readers.fields import Fields, count_of, number_of
from cachecast_datasets.readers.token_classes import (
    CONVENTIONS,
    Classes,
    Convention,
    Counts,
    classes,
)

_INPUT = ("input", "input_tokens", "prompt_tokens", "promptTokens")
_OUTPUT = ("output", "output_tokens", "completion_tokens", "completionTokens")
_READ = ("input_cached_tokens", "input_cache_read", "cache_read_input_tokens")
_WRITE = (
    "input_cache_creation", "cache_creation_input_tokens", "input_cache_write",
    "cache_write_tokens",
)  # fmt: skip
_M5 = ("input_cache_creation_5m", "ephemeral_5m_input_tokens")
_H1 = ("input_cache_creation_1h", "ephemeral_1h_input_tokens")
_REASONING = ("output_reasoning_tokens", "output_reasoning", "reasoning_tokens")
_TOTAL = ("total", "total_tokens", "totalTokens")
_NAMED = frozenset((*_INPUT, *_OUTPUT, *_READ, *_WRITE, *_M5, *_H1, *_REASONING))
_SPAN_INPUT = ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt")


def usage_of(details: Fields, metadata: Mapping[str, Any]) -> Classes:
    """The classes of one generation; reasoning joins the output.

    ValueError where the numbers contradict each other under every convention.
    """
    tried = _readings(details)
    own: Convention = "additive"
    if _sent_inclusive(tried[0], metadata):
        own = "inclusive"
    total = tried[0].total
    if total is not None:
        # which of the readings the row's own total confirms; the disjoint one first
        for convention in sorted(CONVENTIONS, key=lambda c: c != own):
            for counts in tried:
                if counts.fresh(convention) >= 0 and counts.fits_total(convention):
                    found = classes(counts, convention, details.raw)
                    return found._replace(surprising=found.convention != "additive")
    found = classes(tried[0], own, details.raw)
    return found._replace(surprising=found.convention != "additive")


def _readings(details: Fields) -> list[Counts]:
    """The counts as the documentation has them, then as some senders mean them."""
    m5, h1 = details.count(*_M5), details.count(*_H1)
    split = (m5 or 0) + (h1 or 0)
    aggregate = details.count(*_WRITE)
    given, output = details.count(*_INPUT), details.count(*_OUTPUT)
    reasoning = details.count(*_REASONING)
    more_in, more_out = _others(details, "input"), _others(details, "output")
    apart = Counts(
        input=_plus(given, more_in),
        read=details.count(*_READ),
        output=_plus(_plus(output, reasoning), more_out),
        # the aggregate is the sum of both lifetimes, their rest, or 0: never added to them
        write=None if aggregate is None and not split else max(0, (aggregate or 0) - split),
        m5=m5 or 0,
        h1=h1 or 0,
        total=details.optional(*_TOTAL),
        reasoning=details.optional(*_REASONING),
    )
    readings = [apart]
    if split and aggregate:  # … unless the total says that it is a rest beside them
        readings.append(replace(apart, write=aggregate))
    if more_in or more_out:  # … or that other buckets are inside the input and the output
        inside = _plus(output, reasoning)
        readings += [replace(one, input=given, output=inside) for one in readings]
    if reasoning:  # who sends the input inclusive sends the output so, too
        readings += [replace(one, output=output) for one in readings if _covers(output, reasoning)]
    return readings


def _others(details: Fields, side: str) -> int:
    """The side's buckets that have no name here, of sound or images: disjoint like the rest."""
    names = (name for name in details.raw if name.startswith(f"{side}_") and name not in _NAMED)
    return sum(details.optional(name) or 0 for name in names)


def _plus(count: int | None, more: int | None) -> int | None:
    return None if count is None or more is None else count + more


def _covers(output: int | None, reasoning: int) -> bool:
    return output is not None and output >= reasoning


def _sent_inclusive(counts: Counts, metadata: Mapping[str, Any]) -> bool:
    """Whether the span behind the row had this very input: OTel's is inclusive (BR-11)."""
    for name in _SPAN_INPUT:
        value = metadata.get(name)
        if value is not None and counts.input is not None and counts.cached:
            return count_of(value, f"metadata.{name}") == counts.input >= counts.cached
    return False


def cost_of(row: Fields) -> Decimal | None:
    """The cost that Langfuse holds for the generation: its total, or the sum of its parts."""
    whole = row.money("totalCost", "total_cost", "calculatedTotalCost")
    if whole is not None:
        return whole
    details = row.inner("costDetails", "cost_details")
    if details is None or not details.raw:
        return None
    stated = details.money("total")
    if stated is not None:
        return stated
    parts = [number_of(v, f"{details.path}{k}") for k, v in details.raw.items() if v is not None]
    return sum(parts, Decimal(0)).quantize(Decimal("1e-12")) if parts else None
