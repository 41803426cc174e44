"""Bedrock Converse (and invocation logs): additive; the lifetime of writes only in cacheDetails.

Source: docs.aws.amazon.com Bedrock prompt-caching page, 2026-09.
"""

from collections.abc import Mapping
from typing import Any

from cachecast_pricing.conventions import Parts, Writes, decide
from cachecast_pricing.counts import Fields, UsageError, shown
from cachecast_pricing.usage_reading import CountFields, UsageReading

_READ = ("cacheReadInputTokens", "cacheReadInputTokenCount", "cacheReadInputTokensCount")
_WRITE = ("cacheWriteInputTokens", "cacheWriteInputTokenCount", "cacheWriteInputTokensCount")
FIELDS = CountFields(
    ("inputTokens", "inputTokenCount"), ("outputTokens", "outputTokenCount"), (*_READ, *_WRITE)
)


def read(raw: Mapping[str, Any]) -> UsageReading:
    """The usage of a Converse response."""
    fields = Fields(raw)
    parts = Parts(
        input=fields.first(*FIELDS.input),
        read=fields.first(*_READ),
        output=fields.first(*FIELDS.output),
        writes=_writes(fields),
        total=fields.optional("totalTokens"),
    )
    return decide(parts, "additive", ("inclusive",))


def _writes(fields: Fields) -> Writes:
    """Written tokens; UsageError if cacheDetails contradict their total."""
    written = fields.first(*_WRITE)
    details = fields.raw.get("cacheDetails")
    if not details:
        return Writes(null=True) if written is None else Writes(unknown=written)
    if not isinstance(details, list) or not all(isinstance(d, Mapping) for d in details):
        raise UsageError(f"cacheDetails is {shown(details)}, expected a list of objects")
    split = {"5m": 0, "1h": 0}
    for number, item in enumerate(details):
        ttl = item.get("ttl")
        if not isinstance(ttl, str) or ttl not in split:
            raise UsageError(f"cacheDetails[{number}].ttl is {shown(ttl)}, expected 5m or 1h")
        split[ttl] += Fields(item, f"cacheDetails[{number}].").first("inputTokens") or 0
    if written not in (None, 0, sum(split.values())):
        raise UsageError(
            f"{_WRITE[0]} is {written}, "
            f"but cacheDetails say {split['5m']} (5m) + {split['1h']} (1h)"
        )
    return Writes(m5=split["5m"], h1=split["1h"])
