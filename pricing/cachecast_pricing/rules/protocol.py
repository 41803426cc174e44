"""What every family of cache rules offers: look up at arrival, write when the response starts."""

from dataclasses import dataclass
from typing import Protocol

from cachecast_datasets.request import Request
from cachecast_pricing.rules.facts import ProviderFacts
from cachecast_pricing.rules.memory import Memory
from cachecast_pricing.rules.reasons import Explanation
from cachecast_pricing.rules.settings import RuleSettings
from cachecast_pricing.usage import Usage


class Match:
    """The outcome of a look-up; the rules keep what they need until the response starts.

    `hit_tokens` is the longest usable entry as the provider bills it; `explanation` why the rest
    was not read; `rejected` the provider's reason to refuse the request, if it would.
    """

    __slots__ = ("explanation", "hit_tokens", "plan", "rejected")

    def __init__(
        self,
        hit_tokens: int,
        explanation: Explanation,
        plan: object = None,
        rejected: str | None = None,
    ) -> None:
        self.hit_tokens = hit_tokens
        self.explanation = explanation
        self.plan = plan
        self.rejected = rejected


@dataclass(frozen=True, slots=True)
class Setup:
    """What a family of rules starts from.

    `carries_markers`: the log's source can show markers, so that none there means none was sent.
    `memory` is shared by the models of one provider in one scenario.
    """

    facts: ProviderFacts
    model: str
    settings: RuleSettings
    carries_markers: bool
    memory: Memory

    @property
    def minimum(self) -> int:
        """The shortest prefix that this model caches, in tokens."""
        return self.facts.minimum_for(self.model)


class CacheRules(Protocol):
    """One provider's cache as a state machine; it never looks at a clock, only at `now_us`.

    Requests must come in arrival order; between a request's `look_up` and its `response_started`
    other requests may come. A request that never starts is told by `abandoned` instead.
    """

    def look_up(self, request: Request, now_us: int) -> Match:
        """The longest usable entry at `now_us`, and the reason it is not longer."""
        ...

    def response_started(self, request: Request, match: Match, now_us: int) -> Usage:
        """Write and refresh entries as of `now_us`; the request's tokens by class."""
        ...

    def abandoned(self, request: Request, match: Match, now_us: int) -> Usage:
        """The request ended before its first token: nothing is written. Its classes if billed."""
        ...

    def notes(self) -> list[str]:
        """Sentences for the result's assumptions that only the run could know."""
        ...
