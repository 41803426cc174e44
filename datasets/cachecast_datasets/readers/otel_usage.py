"""Token counts of one GenAI span, in the spellings that instrumentations use."""

from collections.abc import Mapping
from typing import Any

from cachecast_datasets.readers.fields import Fields
from cachecast_datasets.readers.token_classes import Classes, Counts, classes

_U = "gen_ai.usage."
_INPUT = (
    f"{_U}input_tokens", f"{_U}prompt_tokens", "llm.token_count.prompt", "ai.usage.inputTokens",
    "ai.usage.promptTokens", "llm.usage.prompt_tokens",
)  # fmt: skip
_OUTPUT = (
    f"{_U}output_tokens", f"{_U}completion_tokens", "llm.token_count.completion",
    "ai.usage.outputTokens", "ai.usage.completionTokens", "llm.usage.completion_tokens",
)  # fmt: skip
_READ = (
    f"{_U}cache_read.input_tokens", f"{_U}cache_read_input_tokens", f"{_U}cache_read_tokens",
    f"{_U}details.cache_read_tokens", f"{_U}details.cache_read_input_tokens",
    f"{_U}input_tokens.cached", "llm.token_count.prompt_details.cache_read",
    "ai.usage.cachedInputTokens", f"{_U}details.cached_tokens",
)  # fmt: skip
_WRITE = (
    f"{_U}cache_creation.input_tokens", f"{_U}cache_creation_input_tokens",
    f"{_U}cache_write_tokens", f"{_U}cache_write_input_tokens", f"{_U}details.cache_write_tokens",
    f"{_U}details.cache_creation_input_tokens", f"{_U}input_tokens.cache_write",
    "llm.token_count.prompt_details.cache_write",
)  # fmt: skip
_REASONING = (
    f"{_U}reasoning.output_tokens", f"{_U}details.reasoning_tokens",
    "llm.token_count.completion_details.reasoning", "ai.usage.reasoningTokens",
)  # fmt: skip
_TOTAL = (
    f"{_U}total_tokens", "llm.token_count.total", "ai.usage.totalTokens", "llm.usage.total_tokens",
)  # fmt: skip
_ALL = frozenset((*_INPUT, *_OUTPUT, *_READ, *_WRITE, *_REASONING, *_TOTAL))
_SPLIT = ("ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens")


def usage_of(attributes: Fields) -> Classes | None:
    """The classes that a span reports; None where it has no input and no output count.

    ValueError where the numbers contradict each other under both conventions.
    """
    raw = _raw_anthropic(attributes)
    if raw is not None:
        return classes(_anthropic(raw), "additive", raw.raw)._replace(surprising=False)
    if attributes.value(*_INPUT) is None and attributes.value(*_OUTPUT) is None:
        return None
    counts = Counts(
        input=attributes.optional(*_INPUT),
        read=attributes.count(*_READ),
        output=attributes.optional(*_OUTPUT),
        write=attributes.count(*_WRITE),
        total=attributes.optional(*_TOTAL),
        reasoning=attributes.optional(*_REASONING),
    )
    used = {name: value for name, value in attributes.raw.items() if name in _ALL}
    return classes(counts, "inclusive", used)


def _raw_anthropic(attributes: Fields) -> Fields | None:
    """Anthropic's own usage object, which Vercel's AI SDK keeps with its split of writes."""
    metadata = attributes.json("ai.response.providerMetadata")
    maker = metadata.get("anthropic") if isinstance(metadata, Mapping) else None
    usage: Any = maker.get("usage") if isinstance(maker, Mapping) else None
    if not isinstance(usage, Mapping) or usage.get("input_tokens") is None:
        return None
    return Fields(usage, "ai.response.providerMetadata.anthropic.usage.")


def _anthropic(usage: Fields) -> Counts:
    written = usage.count("cache_creation_input_tokens")
    split = usage.inner("cache_creation")
    m5 = h1 = 0
    if split is not None:
        m5, h1 = (split.optional(name) or 0 for name in _SPLIT)
        if written not in (None, 0, m5 + h1) and m5 + h1:
            raise ValueError(
                f"{usage.path}cache_creation_input_tokens is {written}, expected {m5 + h1} as its "
                f"split says: {m5} (5m) + {h1} (1h)"
            )
        written = 0 if m5 + h1 else written
    return Counts(
        input=usage.optional("input_tokens"),
        read=usage.count("cache_read_input_tokens"),
        output=usage.optional("output_tokens"),
        write=written,
        m5=m5,
        h1=h1,
    )
