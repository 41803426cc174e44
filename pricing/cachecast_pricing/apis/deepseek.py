"""DeepSeek: prompt = hit + miss, both at the top level; there is no write class.

`prompt_tokens_details` may be null. If it has cached_tokens, that wins over the top-level hit.
Source: api-docs.deepseek.com kv_cache guide, 2026-09/10.
"""

from collections.abc import Mapping
from typing import Any

from cachecast_pricing.conventions import Parts, decide
from cachecast_pricing.counts import Fields, UsageError
from cachecast_pricing.usage_reading import CountFields, UsageReading

_HIT, _MISS = "prompt_cache_hit_tokens", "prompt_cache_miss_tokens"
_PROMPT = ("prompt_tokens", "input_tokens")
FIELDS = CountFields(
    (*_PROMPT, _MISS, _HIT), ("completion_tokens", "output_tokens")
)  # hits and misses are a prompt


def read(raw: Mapping[str, Any]) -> UsageReading:
    """The usage; misses are fresh tokens, never writes."""
    fields = Fields(raw)
    details = fields.inner("prompt_tokens_details", "input_tokens_details")
    hit, miss = fields.optional(_HIT), fields.optional(_MISS)
    nested = details is not None and details.has("cached_tokens")
    if nested and details is not None:
        hit = details.first("cached_tokens")
    prompt = fields.optional(*_PROMPT)
    if prompt is None:
        if hit is None or miss is None:
            raise UsageError(f"a DeepSeek usage needs prompt_tokens, or {_HIT} and {_MISS}")
        prompt = hit + miss
    if hit is None and miss is not None:
        hit = prompt - miss
        if hit < 0:
            raise UsageError(f"{_MISS} is {miss}, more than the {prompt} prompt_tokens")
    if hit is None and not _says_null(fields, details):
        hit = 0
    additive = miss is not None and hit is not None and prompt == miss and hit > 0
    if miss is not None and not nested and not additive and prompt != (hit or 0) + miss:
        both = (hit or 0) + miss
        raise UsageError(f"prompt_tokens is {prompt}, but {_HIT} {hit} + {_MISS} {miss} is {both}")
    out_details = fields.inner("completion_tokens_details", "output_tokens_details")
    parts = Parts(
        input=prompt + (hit or 0) if additive else prompt,
        read=hit,
        output=fields.first(*FIELDS.output),
        total=fields.optional("total_tokens"),
        reasoning=None if out_details is None else out_details.optional("reasoning_tokens"),
    )
    return decide(parts, "inclusive", ("additive",))


def _says_null(fields: Fields, details: Fields | None) -> bool:
    """Whether the object says that it does not know the hits."""
    if details is not None:
        return details.is_null("cached_tokens")
    return fields.is_null("prompt_tokens_details", "input_tokens_details", _HIT)
