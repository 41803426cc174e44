"""The causes that `why` tells apart, finer than the reasons of design §5, and what was found."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from cachecast_pricing.rules.reasons import HARMLESS, NO_EVIDENCE, REASONS

# Finer than a reason. Where nothing finer is known, a cause has the name of the reason.
FINER: tuple[str, ...] = (
    "marker_misplaced", "model_alias_changed",
    "tools_added", "tools_removed", "string_or_block",
    "clock", "identifier", "counter_or_nonce", "examples_shuffled", "passages_reordered",
    "thinking_stripped", "image_replaced", "history_summarised", "history_truncated",
    "auxiliary_call", "rewind",
)  # fmt: skip
CAUSES: tuple[str, ...] = (*FINER, *(reason for reason in REASONS if reason not in HARMLESS))

# A call beside the conversation, or a step back in it, breaks nothing that is used again.
NO_BREAK: frozenset[str] = frozenset({"auxiliary_call", "rewind"})

VOLATILE: tuple[str, ...] = ("clock", "identifier", "counter_or_nonce")
REORDERED: tuple[str, ...] = ("examples_shuffled", "passages_reordered")


def _nothing() -> Mapping[str, Any]:
    return NO_EVIDENCE


@dataclass(frozen=True, slots=True)
class Place:
    """Where a prompt parts from the earlier one.

    `block` counts content blocks from 0, `tokens` stand before it; `offset`, `before` and `after`
    are characters of its text, None without text.
    """

    section: str
    block: int | None
    tokens: int | None = None
    label: str | None = None
    offset: int | None = None
    before: str | None = None
    after: str | None = None


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference from the earlier prompt; `cause` None: one of `candidates`, or unknown."""

    cause: str | None
    place: Place | None = None
    candidates: tuple[str, ...] = ()
    evidence: Mapping[str, Any] = field(default_factory=_nothing)


@dataclass(frozen=True, slots=True)
class Finding:
    """What is known of one request's misses.

    `cause` is certain, or None: then it is one of `candidates`, or unknown if there are none.
    `also` are further differences from the earlier prompt, that would have cost as much alone;
    `place` is the first divergence; `told` is the provider's own diagnosis and `agrees` whether
    ours fits it. `breaks` is False for what is no break, or may be none: auxiliary calls, rewinds.
    """

    cause: str | None = None
    candidates: tuple[str, ...] = ()
    also: tuple[Difference, ...] = ()
    place: Place | None = None
    compared_with: str | None = None
    evidence: Mapping[str, Any] = field(default_factory=_nothing)
    told: str | None = None
    agrees: bool | None = None
    breaks: bool = True

    @property
    def name(self) -> str:
        """The cause, or `unknown` where it is not certain."""
        return self.cause or "unknown"


NOTHING = Finding(breaks=False)
