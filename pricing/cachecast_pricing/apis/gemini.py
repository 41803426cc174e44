"""Gemini: the prompt contains the cached part; thoughts and tool-use prompts stand beside.

total = prompt + candidates + thoughts + tool use. There is no write class.
Source: ai.google.dev and Vertex documentation, 2026-09; python-genai types.
"""

from collections.abc import Mapping
from typing import Any

from cachecast_pricing.conventions import Parts, decide
from cachecast_pricing.counts import Fields, known_sum
from cachecast_pricing.usage_reading import CountFields, UsageReading

_PROMPT = ("promptTokenCount", "prompt_token_count", "total_input_tokens", "input")
_CACHED = ("cachedContentTokenCount", "cached_content_token_count", "total_cached_tokens", "cached")
_CANDIDATES = ("candidatesTokenCount", "candidates_token_count", "total_output_tokens", "output")
_THOUGHTS = ("thoughtsTokenCount", "thoughts_token_count", "total_thought_tokens", "thoughts")
_TOOLS = (
    "toolUsePromptTokenCount", "tool_use_prompt_token_count", "total_tool_use_tokens", "tool",
)  # fmt: skip
_TOTAL = ("totalTokenCount", "total_token_count", "total_tokens", "total")
FIELDS = CountFields(_PROMPT, (*_CANDIDATES, *_THOUGHTS), _TOOLS, _CACHED)


def read(raw: Mapping[str, Any]) -> UsageReading:
    """The usage of usageMetadata; output = candidates + thoughts."""
    outer = Fields(raw)
    fields = outer.inner("usageMetadata", "usage_metadata") or outer
    prompt, candidates = fields.first(*_PROMPT), fields.first(*_CANDIDATES)
    thoughts, tools = fields.first(*_THOUGHTS), fields.first(*_TOOLS)
    total = fields.optional(*_TOTAL)
    notes: tuple[str, ...] = ()
    if total is not None and prompt is not None and total == known_sum(
        (prompt, candidates, thoughts, tools)
    ):  # fmt: skip
        # the total leaves nothing for what is null
        candidates, thoughts, tools = candidates or 0, thoughts or 0, tools or 0
    if tools is None:
        notes = ("toolUsePromptTokenCount is null: the prompt may be larger",)
    parts = Parts(
        input=prompt,
        read=fields.first(*_CACHED),
        output=known_sum((candidates, thoughts)),
        total=total,
        beside=tools or 0,
        reasoning=thoughts,
        more_output=candidates is None or thoughts is None,
        notes=notes,
    )
    return decide(parts, "inclusive", ("additive",))
