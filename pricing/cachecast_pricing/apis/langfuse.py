"""Langfuse usageDetails: disjoint buckets; `input` is fresh and `output` excludes reasoning.

Rows of SDKs that send an inclusive input are recognised by their own total.
Source: langfuse OtelIngestionProcessor and default prices @6275144, 2026-08.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from cachecast_pricing.conventions import Parts, decide, writes_beside_split
from cachecast_pricing.counts import Fields
from cachecast_pricing.usage_reading import CountFields, UsageReading

_INPUT = ("input", "input_tokens", "prompt_tokens")
_OUTPUT = ("output", "output_tokens", "completion_tokens")
_READ = ("input_cached_tokens", "input_cache_read", "cache_read_input_tokens")
_WRITE = (
    "input_cache_creation", "cache_creation_input_tokens", "input_cache_write",
    "cache_write_tokens",
)  # fmt: skip
_M5 = ("input_cache_creation_5m", "ephemeral_5m_input_tokens")
_H1 = ("input_cache_creation_1h", "ephemeral_1h_input_tokens")
_REASONING = ("output_reasoning_tokens", "output_reasoning", "reasoning_tokens")
_TOTAL = ("total", "total_tokens")
FIELDS = CountFields(_INPUT, _OUTPUT, (*_READ, *_WRITE, *_M5, *_H1))


def read(raw: Mapping[str, Any]) -> UsageReading:
    """The usage of one generation; reasoning joins the output."""
    fields = Fields(raw)
    output, reasoning = fields.first(*_OUTPUT), fields.first(*_REASONING)
    apart = Parts(
        input=fields.first(*_INPUT),
        read=fields.first(*_READ),
        output=None if output is None or reasoning is None else output + reasoning,
        writes=writes_beside_split(fields.first(*_WRITE), fields.first(*_M5), fields.first(*_H1)),
        total=fields.optional(*_TOTAL),
        reasoning=fields.optional(*_REASONING),
    )
    together = replace(apart, output=output)
    # an SDK that sends the input inclusive sends the output so, too
    if reasoning and not apart.fits_total("disjoint") and any(
        together.fits_total(s) and together.fresh(s) >= 0 for s in ("disjoint", "inclusive")
    ):  # fmt: skip
        note = "the total says that output has reasoning in it"
        return decide(replace(together, notes=(note,)), "disjoint", ("inclusive",))
    return decide(apart, "disjoint", ("inclusive",))
