"""The columnar path: totals of a scenario over a log that knows only token blocks.

The same rules, memory and clock as the provider world, but usual next turns never become Requests,
events or ledger rows; everything else takes the ordinary way. A property test holds the totals of
both paths equal.
"""

from collections.abc import Iterable
from heapq import heappop, heappush
from typing import Protocol

from cachecast_datasets.request import Request
from cachecast_datasets.turn_columns import TurnColumns
from cachecast_pricing.charge import NoPrice, charge, without_cache
from cachecast_pricing.rules.memory import Memory, Scope
from cachecast_pricing.rules.next_turn import BoundaryLists
from cachecast_pricing.rules.protocol import CacheRules, Match
from cachecast_pricing.rules.reasons import Segment
from cachecast_pricing.rules.store import EntryStore, Plan
from cachecast_pricing.usage import Usage
from cachecast_sim.ledger import miss_costs, row_of
from cachecast_sim.pricer import Moment, Pricer
from cachecast_sim.provider import (
    FIRST_TOKEN_BASE_US,
    FIRST_TOKEN_US_PER_TOKEN,
    SECOND_US,
    Outcome,
    first_token_us,
    refused,
)  # fmt: skip
from cachecast_sim.totals import Totals

END_OF_TIME = 1 << 62
_Started = tuple[Request, Match, int]  # a request on the ordinary way, and its ordinal


class TurnRules(CacheRules, Protocol):
    """Rules that offer the shortcut for usual next turns."""

    memory: Memory
    store: EntryStore
    shortcut: bool

    def usual(
        self, scope: Scope, lists: BoundaryLists, first: int, end: int, total: int, now_us: int
    ) -> Plan | None:
        """The plan of a usual next turn, announced and remembered; None for any other request."""
        ...


class TurnWorld:
    """One scenario with one model at one moment's prices; feed it batches, then take `totals`."""

    def __init__(
        self, rules: TurnRules, pricer: Pricer, moment: Moment, first_token_s: float | None
    ) -> None:
        self.totals = Totals()
        self.estimated_first_tokens = 0
        self._rules = rules
        self._pricer = pricer
        self._first_token_s = first_token_s
        self._bands = moment.bands
        # per price band: requests, fresh, read, written short, written long, output, and how many
        # requests had new text and how many a tail
        self._sums = [[0] * 8 for _ in moment.bands]
        self._waiting: list[tuple[int, int, Plan | _Started]] = []  # a heap by first token
        self._arrived = 0
        self._now = -1

    def feed(self, batches: Iterable[TurnColumns | list[Request]]) -> None:
        """All requests of the log, in its order, in batches of either form."""
        for batch in batches:
            if isinstance(batch, TurnColumns):
                self._turns(batch)
            else:
                for request in batch:
                    self._ordinary(request)
        self._advance(END_OF_TIME)
        self._add_up()

    @property
    def usual_turns(self) -> int:
        """How many requests took the short way."""
        return sum(sums[0] for sums in self._sums)

    def _turns(self, columns: TurnColumns) -> None:
        usual, scope_of = self._rules.usual, self._rules.memory.scope_of
        waiting, fixed_s = self._waiting, self._first_token_s
        first_band = self._bands[0][0]
        rows = zip(
            columns.arrival_us, columns.account, columns.hash_scope, columns.model,
            columns.platform, columns.region, columns.prompt_tokens, columns.output_tokens,
            columns.first_token_s, columns.end_s, columns.starts, columns.ends, strict=True,
        )  # fmt: skip
        for row, fields in enumerate(rows):
            now, owner, hash_scope, model, host, region, total, output, token_s, end_s, a, b = (
                fields
            )
            if waiting and waiting[0][0] <= now:
                self._advance(now)
            key = (owner if owner is not None else hash_scope, model, host, region)
            plan = usual(scope_of(key), columns, a, b, total, now)
            if plan is None:
                self._ordinary(columns.request(row))
                continue
            fresh, read, short, half, hour, half_day, _, _ = plan.usage
            if token_s is not None:
                delay = round(token_s * SECOND_US)
            else:
                self.estimated_first_tokens += 1
                if fixed_s is not None:
                    delay = round(fixed_s * SECOND_US)
                else:
                    delay = FIRST_TOKEN_BASE_US + FIRST_TOKEN_US_PER_TOKEN * (total - read)
                    if end_s is not None and (end_us := round(end_s * SECOND_US)) < delay:
                        delay = end_us
            self._arrived += 1
            if delay:
                heappush(waiting, (now + delay, self._arrived, plan))
            else:
                self._rules.store.write(plan, now)
            written = short + half + hour + half_day
            sums = self._sums[0] if total >= first_band else self._sums_for(total)
            sums[0] += 1
            sums[1] += fresh
            sums[2] += read
            sums[3] += short + half
            sums[4] += hour + half_day
            sums[5] += output or 0
            sums[6] += written > 0
            sums[7] += fresh > 0

    def _sums_for(self, total: int) -> list[int]:
        for (start, _), sums in zip(self._bands, self._sums, strict=True):
            if total >= start:
                return sums
        raise AssertionError(f"{total} prompt tokens")

    def _advance(self, now_us: int) -> None:
        """Every response that starts up to `now_us`; requests of one moment do not see each other.

        So it is called once a moment, before its first arrival, as in the provider world.
        """
        self._now = now_us
        waiting, write = self._waiting, self._rules.store.write
        while waiting and waiting[0][0] <= now_us:
            at, _, started = heappop(waiting)
            if isinstance(started, Plan):
                write(started, at)
            else:
                request, match, ordinal = started
                usage = self._rules.response_started(request, match, at)
                self._finish(request, match, ordinal, "ok", usage)

    def _ordinary(self, request: Request) -> None:
        """What the provider world does with a request."""
        now = request.arrival_us
        if now > self._now:
            self._advance(now)
        ordinal = self._arrived
        self._arrived += 1
        if request.status in ("rejected", "error"):
            outcome = refused(request, ordinal, {"status": request.status})
            self.totals.add(row_of(outcome, self._pricer))
            return
        match = self._rules.look_up(request, now)
        if match.rejected is not None:
            self._finish(request, match, ordinal, "rejected", Usage())
        elif request.status == "aborted" and request.first_token_s is None:
            usage = self._rules.abandoned(request, match, now)
            self._finish(request, match, ordinal, "aborted", usage)
        else:
            self.estimated_first_tokens += request.first_token_s is None
            delay = first_token_us(request, match.hit_tokens, self._first_token_s)
            if delay:
                heappush(self._waiting, (now + delay, ordinal + 1, (request, match, ordinal)))
            else:
                usage = self._rules.response_started(request, match, now)
                self._finish(request, match, ordinal, "ok", usage)

    def _finish(
        self, request: Request, match: Match, ordinal: int, status: str, usage: Usage
    ) -> None:
        outcome = Outcome(request, ordinal, status, usage, match.hit_tokens, match.explanation)
        self.totals.add(row_of(outcome, self._pricer))

    def _add_up(self) -> None:
        """The usual turns, as if each had been added by itself: money is linear in tokens."""
        for (_, prices), sums in zip(self._bands, self._sums, strict=True):
            requests, fresh, read, short, long, output, with_new, with_tail = sums
            if not requests:
                continue
            if prices.cache_write_5m is not None:
                usage = Usage(fresh, read, short, 0, long, 0, 0, output)
            else:
                usage = Usage(fresh, read, 0, short, 0, long, 0, output)
            segments = (
                Segment(read, read + short + long, "new_content"),
                Segment(read + short + long, usage.prompt_tokens, "block_rounding"),
            )
            try:
                paid, plain = charge(usage, prices), without_cache(usage, prices)
            except NoPrice as problem:
                self._pricer.assumptions[f"no price: {problem}"] = None
                paid, plain = None, None
            costs = miss_costs(usage, segments, prices)
            self.totals.add_many(
                requests, usage, paid, plain, zip(costs, (with_new, with_tail), strict=True)
            )
