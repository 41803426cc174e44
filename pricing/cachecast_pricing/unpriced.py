"""What a usage object bills beside text tokens: found, counted and named, never priced.

Audio, image and video tokens stand inside the token counts that are priced as text; web searches
and the like cost a fee of their own. Sources: openai-python, anthropic-sdk-python and python-genai
types, 2026-08; OpenRouter and xAI usage documentation, 2026-08/10.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from cachecast_pricing.counts import UsageError, count_of
from cachecast_pricing.responses import Found

_MEDIA = ("audio", "image", "video", "document")
# objects whose counts are calls of a tool that the provider runs and bills
_CALLS = ("server_tool_use", "server_tool_use_details", "server_side_tool_usage_details")
_CALL_COUNTS = ("web_search_requests", "web_fetch_requests", "num_sources_used")
# items of a response's output that are such calls
_CALL_ITEMS = (
    "web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call",
)  # fmt: skip
_MODALITY_COUNTS = ("tokenCount", "token_count", "tokens")


def unpriced(found: Found) -> list[str]:
    """Each billable part that has no price here: "120 audio tokens (prompt_tokens_details)"."""
    calls = dict(_calls(found.usage)) or dict(_call_items(found))
    parts = [*_media(found.usage, ""), *_modalities(found.usage)]
    parts += [(count, name) for name, count in calls.items()]
    return [f"{count:,} {what}" for count, what in parts]


def unpriced_note(found: Found) -> tuple[str, ...]:
    """The one note about all such parts, or none."""
    parts = unpriced(found)
    if not parts:
        return ()
    return (
        f"{', '.join(parts)} not priced: cachecast knows prices of text tokens only "
        "(such tokens count as text, tool fees come on top)",
    )


def _media(raw: Mapping[str, Any], place: str) -> Iterator[tuple[int, str]]:
    """Counts named after a medium; cached ones are part of the others and would count twice."""
    for name, value in raw.items():
        if isinstance(value, Mapping):
            if "cach" not in name.lower():
                yield from _media(value, name)
            continue
        words = name.lower().replace(".", "_").replace("-", "_").split("_")
        medium = next((medium for medium in _MEDIA if medium in words), None)
        if medium is None or "tokens" not in words or words[0] == "cached":
            continue
        count = _count(value)
        if count:
            yield count, f"{medium} tokens ({place or name})"


def _modalities(raw: Mapping[str, Any]) -> Iterator[tuple[int, str]]:
    """Gemini's lists of counts by modality, those of the cached part left out."""
    inner = raw.get("usageMetadata") or raw.get("usage_metadata")
    for name, value in (inner if isinstance(inner, Mapping) else raw).items():
        if not isinstance(value, list) or "cach" in name.lower():
            continue
        for item in value:
            if not isinstance(item, Mapping) or not isinstance(item.get("modality"), str):
                continue
            medium = item["modality"].rpartition(".")[2].lower()
            count = next((_count(item[key]) for key in _MODALITY_COUNTS if key in item), 0)
            if count and medium not in ("text", "modality_unspecified"):
                yield count, f"{medium} tokens ({name})"


def _calls(raw: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    """Calls of tools that run at the provider; the same count twice has the same name."""
    for name, value in raw.items():
        if isinstance(value, Mapping):
            inside = value.items() if name in _CALLS else _calls(value)
            yield from ((call.replace("_", " "), _count(n)) for call, n in inside if _count(n))
        elif name.endswith(_CALL_COUNTS) and _count(value):
            call = name.rpartition(".")[2].removeprefix("num_")
            yield call.replace("_", " "), _count(value)


def _call_items(found: Found) -> Iterator[tuple[str, int]]:
    """Such calls in the output of a whole response, whose usage does not count them."""
    kinds = Counter(item.get("type") for item in found.output if isinstance(item, Mapping))
    for kind in _CALL_ITEMS:
        if kinds[kind]:
            yield f"{kind.replace('_', ' ')}{'s' if kinds[kind] > 1 else ''}", kinds[kind]


def _count(value: object) -> int:
    """A count; 0 for what is null or no count at all (it prices nothing, so it refuses nothing)."""
    try:
        return count_of(value, "a count")
    except UsageError:
        return 0
