"""What to do about a cause, and the change of `whatif` that replays the log as if it were done."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from cachecast_pricing.rules.families import Sold
from cachecast_pricing.rules.reasons import UNAVOIDABLE
from cachecast_sim.why.causes import NO_BREAK
from cachecast_sim.why.rollup import Rollup, Sum, plus


@dataclass(frozen=True, slots=True)
class Remedy:
    """`change` is what `--change` takes, None where no replay shows it.

    `markers`: only where the caller chooses places and lifetimes, as with Anthropic; `blocks`: only
    for logs with content blocks.
    """

    advice: str
    change: str | None = None
    markers: bool = False
    blocks: bool = False


_VALUE = Remedy("move the value behind the cached part, or drop it", "volatile=move", blocks=True)
_LIFE = Remedy("pings in pauses, or a longer lifetime", "keep-alive=290x3:paying", markers=True)
# no change: ttl=12h is refused for those of the models whose price for it is not known
_HALF_DAY = Remedy("the lifetime of 12 hours, or shorter pauses")
_RETENTION = Remedy("prompt_cache_retention 24h instead of in_memory, or shorter pauses")
_SOONER = Remedy("shorter pauses between requests that share a prefix")
_PLACES = Remedy("markers at other places: cachecast optimize finds them", "mark=auto")
_BREAKPOINTS = Remedy("breakpoints behind what requests share", "mark=translate", blocks=True)
_TOOLS = Remedy("keep the set of tools fixed within a session")
_SYSTEM = Remedy("keep the system text fixed, put what changes into messages")
_EDITS = Remedy("append to the history instead of editing it")
_SUMMARY = Remedy("put a summary last, and compact rarely", "summary=last", blocks=True)
_ORDER = Remedy("keep one order")
_MEDIA = Remedy("keep images in place, byte for byte")

REMEDIES: Mapping[str, Remedy] = {
    "clock": _VALUE,
    "identifier": _VALUE,
    "counter_or_nonce": _VALUE,
    "volatile_value": _VALUE,
    "examples_shuffled": _ORDER,
    "passages_reordered": _ORDER,
    "tools_reordered": Remedy("send tools in a fixed order", "order=tools", blocks=True),
    "json_key_order": Remedy("serialise JSON with sorted keys", "order=keys", blocks=True),
    "tools_added": _TOOLS,
    "tools_removed": _TOOLS,
    "tools_changed": _TOOLS,
    "string_or_block": Remedy("send a text always as a string, or always as a block"),
    "system_changed": _SYSTEM,
    "thinking_stripped": Remedy("send earlier thinking back unchanged"),
    "image_replaced": _MEDIA,
    "media_changed": _MEDIA,
    "history_summarised": _SUMMARY,
    "history_truncated": Remedy("drop old turns rarely, many at a time"),
    "history_rewritten": _EDITS,
    "message_edited": _EDITS,
    "settings_changed": Remedy("keep the settings fixed within a session"),
    "model_changed": Remedy("stay on one model within a session"),
    "model_alias_changed": Remedy("call the model by one name"),
    "account_changed": Remedy("send what shares a prefix through one account", "tenant=shared"),
    "host_changed": Remedy("pin the host"),
    "routed_elsewhere": Remedy("keep a cache key below 15 requests a minute"),
    "ttl_expired": _LIFE,
    "lookback_exceeded": _PLACES,
    "marker_misplaced": _PLACES,
    "not_requested": _PLACES,
    "concurrent_with_writer": Remedy(
        "start the others after the first one's first token, or warm the cache before",
        "prewarm=5", blocks=True,
    ),
    "too_many_markers": Remedy("set four markers at most"),
}  # fmt: skip


@dataclass(slots=True)
class Step:
    """One remedy, the causes that it is for, and what they cost; `cost` None: no price."""

    remedy: Remedy
    change: str | None
    causes: list[str] = field(default_factory=list)
    tokens: int = 0
    cost: int | None = 0


def next_steps(rollup: Rollup, in_blocks: bool) -> list[Step]:
    """What to do, the dearest first. A cost is the most that the remedy can save.

    Each request by its own model's rules, so that a remedy can stand twice: with a change, and
    without one for the models that do not take it. `in_blocks`: the log has content blocks, which
    most changes need.
    """
    found: dict[tuple[Remedy, str | None], Step] = {}
    for name, cause, offered, total in _avoidable(rollup):
        remedy = REMEDIES.get(cause) or REMEDIES.get(name)
        if remedy is None:
            continue
        remedy = _offered(remedy, offered)
        shown_there = (in_blocks or not remedy.blocks) and (offered.places or not remedy.markers)
        change = remedy.change if shown_there else None
        step = found.setdefault((remedy, change), Step(remedy, change))
        shown = name if cause == "unknown" else cause
        if shown not in step.causes:
            step.causes.append(shown)
        step.tokens += total.tokens
        step.cost = plus(step.cost, total.cost)
    return sorted(found.values(), key=lambda step: (-(step.cost or 0), -step.tokens))


def _offered(remedy: Remedy, offered: Sold) -> Remedy:
    """The remedy in the words of what the models sell."""
    if offered.places:
        return remedy
    if remedy is _PLACES:
        return _BREAKPOINTS
    if remedy is _LIFE and offered.retention:
        return _RETENTION
    if remedy is _LIFE:
        return _HALF_DAY if "12h" in offered.lifetimes else _SOONER
    return remedy


def _avoidable(rollup: Rollup) -> Iterator[tuple[str, str, Sold, Sum]]:
    """(reason, cause, what its models sell, its sum) of what is worth a remedy."""
    for name, reason in rollup.reasons.items():
        if name in UNAVOIDABLE:
            continue
        for (cause, offered), total in reason.by_rules.items():
            if total.tokens and cause not in UNAVOIDABLE - {"unknown"} and cause not in NO_BREAK:
                yield name, cause, offered, total
