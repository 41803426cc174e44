"""The closed list of reasons why a prompt token was not read, and the segments that carry them."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from cachecast_datasets.request import Request

# In the order of judgement: a request's own reason is the first of these that holds for it.
REASONS: tuple[str, ...] = (
    "too_many_markers", "rejected", "not_requested", "below_minimum",
    "concurrent_with_writer", "aborted_writer", "ttl_expired", "lookback_exceeded", "evicted",
    "routed_elsewhere", "model_changed", "account_changed", "host_changed", "unit_incomplete",
    "tools_reordered", "json_key_order", "tools_changed", "settings_changed", "volatile_value",
    "system_changed", "media_changed", "message_edited", "history_rewritten",
    "block_rounding", "last_token_rule", "new_content", "uncached_tail", "cold_start",
    "provider_miss", "unknown",
)  # fmt: skip
RANK: dict[str, int] = {reason: rank for rank, reason in enumerate(REASONS)}

# With only these left, everything that an earlier request stored was read: no reason to name.
HARMLESS: frozenset[str] = frozenset({"new_content", "block_rounding", "uncached_tail"})

# Nobody can avoid paying for text that was never there before, nor change the provider's rounding.
UNAVOIDABLE: frozenset[str] = frozenset(
    {
        "rejected", "below_minimum", "aborted_writer", "unit_incomplete", "block_rounding",
        "last_token_rule", "new_content", "uncached_tail", "cold_start", "provider_miss", "unknown",
    }
)  # fmt: skip


NO_EVIDENCE: Mapping[str, Any] = MappingProxyType({})


class Segment(NamedTuple):
    """Prompt tokens `start <= t < end` that were not read, for one reason."""

    start: int
    end: int
    reason: str

    @property
    def tokens(self) -> int:
        """How many tokens."""
        return self.end - self.start


class Explanation(NamedTuple):
    """Why a request did not read more: segments that cover exactly what it did not read.

    `reason` is None if only new text, rounding and the uncached tail remain. `candidates` are the
    reasons that the evidence cannot tell apart; `evidence` names what was seen. `earlier` is the
    request that this one was compared with, None where nothing was compared.
    """

    segments: tuple[Segment, ...]
    reason: str | None
    candidates: tuple[str, ...] = ()
    evidence: Mapping[str, Any] = NO_EVIDENCE
    earlier: Request | None = None
