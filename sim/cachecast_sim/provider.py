"""The provider world: requests meet a provider's cache in time.

An entry becomes readable when its writer's response starts, so one event a request is enough: its
first token. Everything else is decided at the arrival.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import simpy
from simpy.core import EmptySchedule

from cachecast_datasets.request import Request
from cachecast_pricing.rules.protocol import CacheRules, Match
from cachecast_pricing.rules.reasons import Explanation, Segment
from cachecast_pricing.usage import Usage
from cachecast_sim.arrivals import arrivals

SECOND_US = 1_000_000
# Where a log has no first token: at + min(end, 0.5 s + 0.1 ms a token not read) (design §3).
FIRST_TOKEN_BASE_US = 500_000
FIRST_TOKEN_US_PER_TOKEN = 100


@dataclass(slots=True)
class Outcome:
    """What became of one request: its prompt by token class, and why the rest was not read.

    `status`: ok, aborted (before its first token: the charge lies anywhere between nothing and all
    of `usage`), rejected (nothing was processed or billed). `ordinal` counts from 0 in log order.
    `unknown_tokens` are tokens in `usage.fresh` whose class the log does not tell.
    """

    request: Request
    ordinal: int
    status: str
    usage: Usage
    hit_tokens: int
    explanation: Explanation
    unknown_tokens: int = 0


def first_token_us(request: Request, hit_tokens: int, fixed_s: float | None) -> int:
    """Microseconds from the arrival to the first token, from the log or by the named estimate."""
    if request.first_token_s is not None:
        return round(request.first_token_s * SECOND_US)
    if fixed_s is not None:
        return round(fixed_s * SECOND_US)
    prompt_tokens = request.prompt_tokens or 0
    estimate = FIRST_TOKEN_BASE_US + FIRST_TOKEN_US_PER_TOKEN * max(0, prompt_tokens - hit_tokens)
    if request.end_s is None:
        return estimate
    return min(estimate, round(request.end_s * SECOND_US))


class ProviderWorld:
    """One scenario: a clock, the rules that each request falls under, and outcomes in log order."""

    def __init__(
        self, rules_of: Callable[[Request], CacheRules], first_token_s: float | None = None
    ) -> None:
        self._rules_of = rules_of
        self._first_token_s = first_token_s
        self._env = simpy.Environment()
        self.estimated_first_tokens = 0
        self._arrived = 0
        self._next = 0
        self._waiting: dict[int, Outcome] = {}
        self._ready: deque[Outcome] = deque()

    def outcomes(self, requests: Iterable[Request]) -> Iterator[Outcome]:
        """Every request exactly once, in log order, as soon as it and all before it are decided.

        Memory is bounded by the requests in flight.
        """
        env, ready = self._env, self._ready
        env.process(arrivals(env, requests, self._arrive))
        while True:
            try:
                env.step()
            except EmptySchedule:
                break
            while ready:
                yield ready.popleft()
        assert not self._waiting, "every request must end exactly once"

    def _arrive(self, request: Request) -> None:
        ordinal = self._arrived
        self._arrived += 1
        if request.status in ("rejected", "error"):
            self._finish(refused(request, ordinal, {"status": request.status}))
            return
        rules = self._rules_of(request)
        now = int(self._env.now)
        match = rules.look_up(request, now)
        if match.rejected is not None:
            outcome = Outcome(request, ordinal, "rejected", Usage(), 0, match.explanation)
            self._finish(outcome)
            return
        if request.status == "aborted" and request.first_token_s is None:
            usage = rules.abandoned(request, match, now)
            self._finish(self._outcome(request, ordinal, "aborted", usage, match))
            return
        self.estimated_first_tokens += request.first_token_s is None
        delay = first_token_us(request, match.hit_tokens, self._first_token_s)
        if not delay:  # readable for the next arrival of this very moment
            usage = rules.response_started(request, match, now)
            self._finish(self._outcome(request, ordinal, "ok", usage, match))
            return

        def start(event: simpy.Event) -> None:
            usage = rules.response_started(request, match, int(self._env.now))
            self._finish(self._outcome(request, ordinal, "ok", usage, match))

        started = self._env.timeout(delay)
        assert started.callbacks is not None
        started.callbacks.append(start)

    def _outcome(
        self, request: Request, ordinal: int, status: str, usage: Usage, match: Match
    ) -> Outcome:
        return Outcome(request, ordinal, status, usage, match.hit_tokens, match.explanation)

    def _finish(self, outcome: Outcome) -> None:
        waiting = self._waiting
        if outcome.ordinal != self._next:
            waiting[outcome.ordinal] = outcome
            return
        self._ready.append(outcome)
        self._next += 1
        while waiting and (due := waiting.pop(self._next, None)) is not None:
            self._ready.append(due)
            self._next += 1


def refused(request: Request, ordinal: int, evidence: dict[str, object]) -> Outcome:
    """A request that was not processed: zero usage and a reason with no tokens."""
    explanation = Explanation((Segment(0, 0, "rejected"),), "rejected", evidence=evidence)
    return Outcome(request, ordinal, "rejected", Usage(), 0, explanation)
