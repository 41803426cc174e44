"""The provider's own diagnosis of a miss, held against ours.

Anthropic: `diagnostics.cache_miss_reason.type` (GA 2026-09-23). OpenAI: `prompt_cache_diagnostics`
(Responses, GPT-5.6 and later, 2026-10-02). It compares the structure of two requests and says
nothing of lifetimes or machines.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from cachecast_datasets.request import Request
from cachecast_sim.why.causes import REORDERED, VOLATILE, Finding

_IN_TEXT = (*VOLATILE, *REORDERED, "json_key_order", "string_or_block", "volatile_value")
_HISTORY = (
    "history_summarised", "history_truncated", "history_rewritten", "thinking_stripped",
    "image_replaced", "media_changed", "message_edited", "rewind",
)  # fmt: skip
# what the provider says -> the causes of ours that are the same
SAME: dict[str, tuple[str, ...]] = {
    "model_changed": ("model_changed", "model_alias_changed"),
    "system_changed": ("system_changed", "tools_reordered", *_IN_TEXT),
    "tools_changed": (
        "tools_changed", "tools_added", "tools_removed", "tools_reordered", "json_key_order",
        *VOLATILE, "volatile_value",
    ),
    "messages_changed": (*_HISTORY, *_IN_TEXT),
    "input_changed": ("system_changed", *_HISTORY, *_IN_TEXT),
    "context_compacted": ("history_summarised", "history_truncated", "history_rewritten"),
    "prompt_cache_key_changed": ("settings_changed",),
    "text_format_changed": ("settings_changed",),
    "reasoning_effort_changed": ("settings_changed",),
    "verbosity_changed": ("settings_changed",),
    "service_tier_changed": ("settings_changed",),
}  # fmt: skip
# the cause that stands for the provider's word where ours is not the same
_COARSE: dict[str, str] = {
    "model_changed": "model_changed", "system_changed": "system_changed",
    "tools_changed": "tools_changed", "context_compacted": "history_rewritten",
    "prompt_cache_key_changed": "settings_changed", "text_format_changed": "settings_changed",
    "reasoning_effort_changed": "settings_changed", "verbosity_changed": "settings_changed",
    "service_tier_changed": "settings_changed",
}  # fmt: skip


def told_by_provider(text: str | None) -> str | None:
    """The provider's word for the miss; None if it gave none, or could not tell."""
    if text is None:
        return None
    try:
        said: Any = json.loads(text)
    except ValueError:
        return None
    if not isinstance(said, Mapping):
        return None
    reason = said.get("cache_miss_reason", said.get("reason"))
    if isinstance(reason, Mapping):
        reason = reason.get("type")
    return reason if reason in SAME else None


def with_diagnosis(
    finding: Finding, request: Request, reason: str | None, same_model: bool
) -> Finding:
    """The finding with the provider's word, which holds where ours differs.

    Only for the log's own model: what one provider says tells nothing of another's cache.
    """
    if request.observed is None or not same_model:
        return finding
    told = told_by_provider(request.observed.diagnosis)
    if told is None:
        return finding
    ours = {finding.cause, *finding.candidates, *(d.cause for d in finding.also), reason} - {None}
    if ours & set(SAME[told]):
        return replace(finding, told=told, agrees=True)
    evidence = {**finding.evidence, "told": told, "ours": finding.cause or reason or "nothing"}
    cause = _COARSE.get(told)
    candidates = () if cause is not None else SAME[told]
    return replace(
        finding, cause=cause, candidates=candidates, evidence=evidence, told=told, agrees=False
    )
