"""OpenAI's organization usage buckets: inclusive, with the three disjoint parts stated too.

A bucket sums many requests, so a long-context price cannot be told from it.
Source: openai-python types @e43b4224, 2026-08-21.
"""

from collections.abc import Mapping
from typing import Any

from cachecast_pricing.conventions import Parts, Writes, decide
from cachecast_pricing.counts import Fields, UsageError, known_sum
from cachecast_pricing.usage_reading import CountFields, UsageReading

FIELDS = CountFields(
    ("input_tokens", "input_uncached_tokens", "input_cached_tokens", "input_cache_write_tokens"),
    ("output_tokens",),
)


def read(raw: Mapping[str, Any]) -> UsageReading:
    """The usage of one bucket."""
    fields = Fields(raw)
    cached = fields.first("input_cached_tokens")
    written = fields.first("input_cache_write_tokens")
    plain = fields.optional("input_uncached_tokens")
    given = fields.optional("input_tokens")
    parts = known_sum((cached, written, plain))
    if given is not None and plain is not None and given != parts:
        raise UsageError(
            f"input_tokens is {given}, but cached {cached} + written {written} + "
            f"uncached {plain} is {parts}"
        )
    return decide(
        Parts(
            input=parts if given is None else given,
            read=cached,
            output=fields.first("output_tokens"),
            writes=Writes(null=True) if written is None else Writes(m30=written),
            notes=("a bucket of many requests: priced as if none were a long one",),
        ),
        "inclusive",
        ("additive",),
    )
