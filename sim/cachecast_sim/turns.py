"""The columnar path: totals of a scenario over a log that knows only token blocks.

The same rules, memory and clock as the provider world, but usual next turns never become Requests,
events or ledger rows; everything else takes the ordinary way. A property test holds the totals of
both paths equal.
"""

from collections.abc import Iterable
from heapq import heappop, heappush

from cachecast_datasets.request import Request
from cachecast_datasets.turn_columns import TurnColumns
from cachecast_pricing.charge import charge, without_cache
from cachecast_pricing.rates import ClassPrices
from cachecast_pricing.rules.next_turn import UsualRules
from cachecast_pricing.rules.reasons import Segment
from cachecast_pricing.rules.store import Plan
from cachecast_pricing.usage import Usage
from cachecast_sim.ledger import miss_costs, row_of
from cachecast_sim.pricer import Moment, Pricer
from cachecast_sim.provider import Desk, Outcome, Waiting, first_token_us
from cachecast_sim.sessions import SessionKey, session_key, session_of
from cachecast_sim.totals import Totals

END_OF_TIME = 1 << 62


class TurnWorld:
    """One scenario with one model at one moment's prices; feed it batches, then take `totals`.

    Every band must have every price that a usual turn can need (`Billing.turns` sees to it).
    Where `sessions` is a dict, what each session paid is added up in it.
    """

    def __init__(
        self,
        rules: UsualRules,
        pricer: Pricer,
        moment: Moment,
        first_token_s: float | None,
        marks_assumed: bool = False,
    ) -> None:
        self.totals = Totals()
        self.sessions: dict[SessionKey, int] | None = None
        self.desk = Desk(lambda request: rules, first_token_s)
        self._rules = rules
        self._pricer = pricer
        self._bands = moment.bands
        self._marks_assumed = marks_assumed
        # per price band: requests, fresh, read, written short, written long, output, and how many
        # requests had new text and how many a tail
        self._sums = [[0] * 8 for _ in moment.bands]
        self._unit_prices = [_unit_prices(prices) for _, prices in moment.bands]
        self._waiting: list[tuple[int, int, Plan | Waiting]] = []  # a heap by first token
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
        fixed_s, estimated = self.desk.first_token_s, 0
        rows = zip(
            columns.arrival_us, columns.account, columns.hash_scope, columns.model,
            columns.platform, columns.region, columns.session_id, columns.prompt_tokens,
            columns.first_token_s, columns.end_s, columns.starts, columns.ends, strict=True,
        )  # fmt: skip
        for row, fields in enumerate(rows):
            now, owner, hashed, model, host, region, session, total, token_s, end_s, a, b = fields
            if now > self._now:
                self._advance(now)
            key = (owner if owner is not None else hashed, model, host, region)
            plan = usual(scope_of(key), session, columns, a, b, total, now)
            if plan is None:
                self._ordinary(columns.request(row))
                continue
            estimated += token_s is None
            delay = first_token_us(total, plan.usage.cache_read, token_s, end_s, fixed_s)
            self._arrived += 1
            if delay:
                heappush(self._waiting, (now + delay, self._arrived, plan))
            else:
                self._rules.store.write(plan, now)
            paid = self._count(plan.usage, total, columns.output_tokens[row])
            if self.sessions is not None:
                name = "" if session is not None else columns.request_id(row)
                self._pay(session_of(key[0], session, name), paid)
        self.desk.estimated_first_tokens += estimated

    def _count(self, usage: Usage, total: int, output: int | None) -> int:
        """One more usual turn; the picounits that it costs."""
        fresh, read, short, half, hour, half_day, _, _ = usage
        band = 0
        while total < self._bands[band][0]:
            band += 1
        sums = self._sums[band]
        if output is None:
            self.totals.unknown_outputs += 1
        sums[0] += 1
        sums[1] += fresh
        sums[2] += read
        sums[3] += short + half
        sums[4] += hour + half_day
        sums[5] += output or 0
        sums[6] += short + half + hour + half_day > 0
        sums[7] += fresh > 0
        prices = self._unit_prices[band]
        return (
            fresh * prices[0] + read * prices[1] + (short + half) * prices[2]
            + (hour + half_day) * prices[3] + (output or 0) * prices[4]
        )  # fmt: skip

    def _pay(self, session: SessionKey, paid: int) -> None:
        assert self.sessions is not None
        self.sessions[session] = self.sessions.get(session, 0) + paid

    def _add(self, outcome: Outcome) -> None:
        """What did not take the short way, row by row."""
        row = row_of(outcome, self._pricer, self._marks_assumed)
        self.totals.add(row)
        if self.sessions is not None:
            self._pay(session_key(row.request), 0 if row.charge is None else row.charge.total)

    def _advance(self, now_us: int) -> None:
        """Every response that starts up to `now_us`, before the first arrival of that moment."""
        self._now = now_us
        waiting, write = self._waiting, self._rules.store.write
        while waiting and waiting[0][0] <= now_us:
            at, _, started = heappop(waiting)
            if isinstance(started, Plan):
                write(started, at)
            else:
                self._add(started.start(at))

    def _ordinary(self, request: Request) -> None:
        """What the provider world does with a request."""
        now, ordinal = request.arrival_us, self._arrived
        if now > self._now:
            self._advance(now)
        self._arrived += 1
        result = self.desk.arrive(request, ordinal, now)
        if isinstance(result, Waiting):
            heappush(self._waiting, (now + result.delay_us, ordinal + 1, result))
        else:
            self._add(result)

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
            costs = miss_costs(usage, segments, prices)
            self.totals.add_many(
                requests, usage, charge(usage, prices), without_cache(usage, prices),
                zip(costs, (with_new, with_tail), strict=True),
                long_context=prices is not self._bands[-1][1],
            )  # fmt: skip


def _unit_prices(prices: ClassPrices) -> tuple[int, int, int, int, int]:
    """Picounits a token: fresh, read, short write, long write, output; 0 where no turn has any."""
    short, long = prices.cache_write_5m, prices.cache_write_1h
    if short is None:
        short, long = prices.cache_write_30m, prices.cache_write_12h
    return prices.fresh or 0, prices.cache_read or 0, short or 0, long or 0, prices.output or 0
