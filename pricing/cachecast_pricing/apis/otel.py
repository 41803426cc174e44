"""OpenTelemetry GenAI spans: inclusive by the convention, additive where older code says so.

No attribute tells the lifetime of a write. Integers may be strings (OTLP/JSON).
Source: OTel registry v1.41 and the spellings found in the wild, 2026-11.
"""

from collections.abc import Mapping
from typing import Any

from cachecast_pricing.conventions import Parts, Writes, decide
from cachecast_pricing.counts import Fields
from cachecast_pricing.usage_reading import CountFields, UsageReading

_PREFIX = "gen_ai.usage."
_INPUT = (
    f"{_PREFIX}input_tokens", f"{_PREFIX}prompt_tokens", "llm.token_count.prompt",
    "ai.usage.inputTokens", "ai.usage.promptTokens", "input_tokens",
)  # fmt: skip
_OUTPUT = (
    f"{_PREFIX}output_tokens", f"{_PREFIX}completion_tokens", "llm.token_count.completion",
    "ai.usage.outputTokens", "ai.usage.completionTokens", "output_tokens",
)  # fmt: skip
_READ = (
    f"{_PREFIX}cache_read.input_tokens", f"{_PREFIX}cache_read_input_tokens",
    f"{_PREFIX}cache_read_tokens", f"{_PREFIX}details.cache_read_tokens",
    f"{_PREFIX}details.cache_read_input_tokens", f"{_PREFIX}input_tokens.cached",
    "llm.token_count.prompt_details.cache_read", "ai.usage.cachedInputTokens",
    "cache_read.input_tokens", "cache_read_tokens",
)  # fmt: skip
_WRITE = (
    f"{_PREFIX}cache_creation.input_tokens", f"{_PREFIX}cache_creation_input_tokens",
    f"{_PREFIX}cache_write_tokens", f"{_PREFIX}cache_write_input_tokens",
    f"{_PREFIX}details.cache_write_tokens", f"{_PREFIX}details.cache_creation_input_tokens",
    f"{_PREFIX}input_tokens.cache_write", "llm.token_count.prompt_details.cache_write",
    "cache_creation.input_tokens", "cache_creation_tokens",
)  # fmt: skip
_REASONING = (
    f"{_PREFIX}reasoning.output_tokens", f"{_PREFIX}details.reasoning_tokens",
    "llm.token_count.completion_details.reasoning", "ai.usage.reasoningTokens",
)  # fmt: skip
_TOTAL = (f"{_PREFIX}total_tokens", "llm.token_count.total", "ai.usage.totalTokens")
FIELDS = CountFields(_INPUT, _OUTPUT, cached=(*_READ, *_WRITE))


def read(raw: Mapping[str, Any]) -> UsageReading:
    """The usage of one inference span's attributes."""
    fields = Fields(raw)
    written = fields.first(*_WRITE)
    parts = Parts(
        input=fields.first(*_INPUT),
        read=fields.first(*_READ),
        output=fields.first(*_OUTPUT),
        writes=Writes(null=True) if written is None else Writes(unknown=written),
        total=fields.optional(*_TOTAL),
        reasoning=fields.optional(*_REASONING),
    )
    return decide(parts, "inclusive", ("additive",))
