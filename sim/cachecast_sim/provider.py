"""The provider world: requests meet a provider's cache in time.

An entry becomes readable when its writer's response starts, so one event a request is enough: its
first token. Everything else is decided at the arrival.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import simpy
from simpy.core import EmptySchedule

from cachecast_datasets.request import Request
from cachecast_pricing.rules.protocol import CacheRules, Match
from cachecast_pricing.rules.reasons import Explanation, Segment
from cachecast_pricing.usage import Usage
from cachecast_sim.arrivals import arrivals
from cachecast_sim.observed import reported
from cachecast_sim.prompt_size import prompt_size

SECOND_US = 1_000_000
# Where a log has no first token: at + min(end, 0.5 s + 0.1 ms a token not read) (design §3).
FIRST_TOKEN_BASE_US = 500_000
FIRST_TOKEN_US_PER_TOKEN = 100


@dataclass(slots=True)
class Outcome:
    """What became of one request: its prompt by token class, and why the rest was not read.

    `status`: ok, aborted, rejected (nothing was processed or billed). `unstarted`: it ended before
    its first token, and the charge lies anywhere between nothing and all of `usage`. `ordinal`
    counts from 0 in log order. `unknown_tokens` are tokens in `usage.fresh` whose class the log
    does not tell; `as_reported`: nothing was simulated; not `complete`: the log does not tell
    enough for any usage, and the request has no price.
    """

    request: Request
    ordinal: int
    status: str
    usage: Usage
    hit_tokens: int
    explanation: Explanation
    unstarted: bool = False
    unknown_tokens: int = 0
    as_reported: bool = False
    complete: bool = True


def first_token_us(
    total: int,
    read: int,
    first_token_s: float | None,
    end_s: float | None,
    fixed_s: float | None,
) -> int:
    """Microseconds from the arrival to the first token, from the log or by the named estimate."""
    if first_token_s is not None:
        return round(first_token_s * SECOND_US)
    if fixed_s is not None:
        return round(fixed_s * SECOND_US)
    estimate = FIRST_TOKEN_BASE_US + FIRST_TOKEN_US_PER_TOKEN * (total - read)
    if end_s is not None:
        end_us = round(end_s * SECOND_US)
        return end_us if end_us < estimate else estimate
    return estimate


class Waiting(NamedTuple):
    """A request whose response starts `delay_us` from now."""

    delay_us: int
    request: Request
    ordinal: int
    rules: CacheRules
    match: Match

    def start(self, now_us: int) -> Outcome:
        """The response starts: entries are written, the classes are known."""
        usage = self.rules.response_started(self.request, self.match, now_us)
        return _outcome(self.request, self.ordinal, usage, self.match)


RulesOf = Callable[[Request], CacheRules | None]  # None: nobody has modelled this model's cache


class Desk:
    """What happens to a request at its arrival; both worlds, of events and of columns, ask it."""

    def __init__(self, rules_of: RulesOf, first_token_s: float | None) -> None:
        self.rules_of = rules_of
        self.first_token_s = first_token_s
        self.estimated_first_tokens = 0

    def arrive(self, request: Request, ordinal: int, now_us: int) -> Outcome | Waiting:
        """Its outcome, if that is known at once, else when its response starts."""
        if request.status in ("rejected", "error"):
            return refused(request, ordinal)
        rules = self.rules_of(request)
        if rules is None or request.boundaries is None:
            found = reported_outcome(request, ordinal)
            unread = Segment(found.usage.cache_read, found.usage.prompt_tokens, "unknown")
            found.explanation = Explanation((unread,), "unknown")
            return found
        match = rules.look_up(request, now_us)
        if match.rejected is not None:
            return Outcome(request, ordinal, "rejected", Usage(), 0, match.explanation)
        if request.status == "aborted" and request.first_token_s is None:
            usage = rules.abandoned(request, match, now_us)
            return _outcome(request, ordinal, usage, match, unstarted=True)
        self.estimated_first_tokens += request.first_token_s is None
        delay_us = first_token_us(
            prompt_size(request) or 0, match.hit_tokens, request.first_token_s, request.end_s,
            self.first_token_s,
        )  # fmt: skip
        waiting = Waiting(delay_us, request, ordinal, rules, match)
        # a first token at once is readable for the next arrival of this very moment
        return waiting if delay_us else waiting.start(now_us)


def _outcome(
    request: Request, ordinal: int, usage: Usage, match: Match, unstarted: bool = False
) -> Outcome:
    status = "aborted" if request.status == "aborted" else "ok"
    return Outcome(request, ordinal, status, usage, match.hit_tokens, match.explanation, unstarted)


def refused(request: Request, ordinal: int) -> Outcome:
    """A request that was not processed: zero usage and a reason with no tokens."""
    evidence = {"status": request.status}
    explanation = Explanation((Segment(0, 0, "rejected"),), "rejected", evidence=evidence)
    return Outcome(request, ordinal, "rejected", Usage(), 0, explanation)


def reported_outcome(request: Request, ordinal: int) -> Outcome:
    """What the source itself reported, as far as it did; nothing is simulated."""
    if request.status in ("rejected", "error"):
        return refused(request, ordinal)
    found = reported(request)
    usage, unknown = found if found is not None else (Usage(), 0)
    unstarted = request.status == "aborted" and request.first_token_s is None
    status = "aborted" if request.status == "aborted" else "ok"
    nothing = Explanation((), None)
    return Outcome(
        request, ordinal, status, usage, usage.cache_read, nothing, unstarted, unknown,
        as_reported=True, complete=found is not None,
    )  # fmt: skip


class ProviderWorld:
    """One scenario: a clock, the rules that each request falls under, and outcomes in log order."""

    def __init__(self, rules_of: RulesOf, first_token_s: float | None = None) -> None:
        self.desk = Desk(rules_of, first_token_s)
        self._env = simpy.Environment()
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
        result = self.desk.arrive(request, ordinal, int(self._env.now))
        if isinstance(result, Outcome):
            self._finish(result)
            return
        started = self._env.timeout(result.delay_us)
        assert started.callbacks is not None
        started.callbacks.append(lambda event: self._finish(result.start(int(self._env.now))))

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
