"""Why the prediction and the log's own usage differ, request by request, by cause.

The identity that holds for every set of requests: the tokens of all causes sum to predicted minus
observed read tokens, over the requests whose log tells its read tokens; their costs to predicted
minus observed charge, over the requests where both are known.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from cachecast_datasets.request import Observed
from cachecast_pricing.charge import Charge
from cachecast_pricing.usage import PROMPT_CLASSES, Usage

# In the order of judgement: a token belongs to the first cause that holds.
CAUSES: tuple[str, ...] = (
    "model", "unseen_prompt", "ttl_tier", "provider_miss", "longer_life", "earlier_traffic",
    "marking_unknown", "unknown",
)  # fmt: skip
_TIERS = ("5m", "30m", "1h", "12h")  # ascending


class Gap(NamedTuple):
    """One cause in one request: read tokens predicted minus observed, and the same of its charge.

    `cost` in picounits, None where predicted or observed charge is unknown.
    """

    cause: str
    tokens: int
    cost: int | None


class Case(NamedTuple):
    """What is known of one request besides its observed usage.

    `reason` = why the prediction did not read more; `same_model`: the log's own model, as asked and
    as served, is the scenario's; `marks_assumed`: the log cannot show markers, a policy stood in.
    """

    usage: Usage
    reason: str | None
    same_model: bool
    marks_assumed: bool
    predicted: Charge | None
    observed: Charge | None


def gaps_of(seen: Observed, case: Case) -> list[Gap]:
    """The causes of one request; none where nothing differs or the log tells no read tokens.

    The money of the request goes to its first cause.
    """
    if seen.cache_read is None:
        return []
    off = case.usage.cache_read - seen.cache_read
    cost = None
    if case.predicted is not None and case.observed is not None:
        cost = case.predicted.total - case.observed.total
    parts = _split(seen, case, off)
    if not parts:
        if not cost:
            return []
        parts = [(_other_cause(seen, case), 0)]
    (first, tokens), *others = parts
    zero = None if cost is None else 0
    return [Gap(first, tokens, cost), *(Gap(cause, tokens, zero) for cause, tokens in others)]


def _split(seen: Observed, case: Case, off: int) -> list[tuple[str, int]]:
    """(cause, tokens) that sum to `off`."""
    if not off:
        return []
    if not case.same_model:
        return [("model", off)]
    parts = []
    if off < 0:
        hidden = min(-off, _unseen(seen, case.usage))
        if hidden:
            parts.append(("unseen_prompt", -hidden))
            off += hidden
    if off:
        parts.append((_read_cause(seen, case, off), off))
    return parts


def _read_cause(seen: Observed, case: Case, off: int) -> str:
    ours, theirs = _tier(case.usage), _tier(seen)
    tiers_differ = ours is not None and theirs is not None and ours != theirs
    if off > 0:
        if tiers_differ and ours is not None and theirs is not None and theirs < ours:
            return "ttl_tier"
        if seen.cache_read == 0 and _anew(seen, case.usage) * 2 >= off:
            return "provider_miss"
    elif case.reason == "ttl_expired":
        return "ttl_tier" if tiers_differ else "longer_life"
    elif case.reason == "cold_start":
        return "earlier_traffic"
    return "marking_unknown" if case.marks_assumed else "unknown"


def _other_cause(seen: Observed, case: Case) -> str:
    """Why the charge differs although as much was read."""
    if not case.same_model:
        return "model"
    if _unseen(seen, case.usage):
        return "unseen_prompt"
    ours, theirs = _tier(case.usage), _tier(seen)
    if ours != theirs and None not in (ours, theirs):
        return "ttl_tier"
    return "marking_unknown" if case.marks_assumed else "unknown"


def _tier(usage: Usage | Observed) -> int | None:
    """The longest lifetime that is written, as a place in _TIERS; None if none is known."""
    written = [i for i, ttl in enumerate(_TIERS) if getattr(usage, f"cache_write_{ttl}")]
    return written[-1] if written else None


def _unseen(seen: Observed, usage: Usage) -> int:
    """Prompt tokens that the provider saw and the log's prompt does not hold; 0 if unknown."""
    told = [count for count in _counts(seen) if count is not None]
    return max(0, sum(told) - usage.prompt_tokens) if len(told) == len(PROMPT_CLASSES) else 0


def _anew(seen: Observed, usage: Usage) -> int:
    """Tokens that the provider processed, written or not, beyond what was predicted."""
    told = sum(count or 0 for count in _counts(seen)) - (seen.cache_read or 0)
    return told - (usage.prompt_tokens - usage.cache_read)


def _counts(seen: Observed) -> list[int | None]:
    return [getattr(seen, name) for name in PROMPT_CLASSES]


@dataclass(slots=True)
class GapTotal:
    """One cause over many requests. `cost` None: some of it has no price."""

    cause: str
    requests: int = 0
    tokens: int = 0
    cost: int | None = 0


class GapTotals:
    """Sums of gaps by cause."""

    def __init__(self) -> None:
        self._found: dict[str, GapTotal] = {}

    def add(self, gaps: Sequence[Gap]) -> None:
        """The gaps of one more request."""
        for cause, tokens, cost in gaps:
            total = self._found.get(cause)
            if total is None:
                total = self._found[cause] = GapTotal(cause)
            total.requests += 1
            total.tokens += tokens
            total.cost = None if cost is None or total.cost is None else total.cost + cost

    def causes(self) -> list[GapTotal]:
        """The causes that were found, in the order of judgement."""
        return sorted(self._found.values(), key=lambda total: CAUSES.index(total.cause))
