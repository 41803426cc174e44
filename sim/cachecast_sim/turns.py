"""The columnar path: totals of a scenario over a log that knows only token blocks.

The same rules, memory and clock as the provider world, but usual next turns never become Requests,
events or ledger rows; everything else takes the ordinary way. A property test holds the totals of
both paths equal.
"""

from collections.abc import Callable, Iterable, Sequence
from heapq import heappop, heappush

from cachecast_datasets.request import Request
from cachecast_datasets.turn_columns import TurnColumns
from cachecast_pricing.charge import charge, without_cache
from cachecast_pricing.rates import ClassPrices
from cachecast_pricing.rules.next_turn import TokenBlocks, UsualRules
from cachecast_pricing.rules.reasons import Segment
from cachecast_pricing.rules.store import EntryStore, Plan
from cachecast_pricing.usage import Usage
from cachecast_sim.ledger import Miss, miss_costs, row_of
from cachecast_sim.pricer import Moment, Pricer
from cachecast_sim.provider import Desk, Outcome, RulesOf, Waiting, first_token_us
from cachecast_sim.sessions import SessionKey, session_key, session_of
from cachecast_sim.totals import Totals

END_OF_TIME = 1 << 62


class Lane:
    """One model's rules at one moment's prices, and the sums of its usual turns.

    Every band must have every price that a usual turn can need (`Billing.turns` sees to it).
    """

    __slots__ = ("bands", "rules", "sums", "unit_prices")

    def __init__(self, rules: UsualRules, moment: Moment) -> None:
        self.rules = rules
        self.bands = moment.bands
        # per price band: requests, fresh, read, written short, written long, output, how many
        # requests had new text, a tail, unstored text, and that text as written short and long
        self.sums = [[0] * 11 for _ in moment.bands]
        self.unit_prices = [_unit_prices(prices) for _, prices in moment.bands]


LaneOf = Callable[[Request], Lane | None]  # of a request's model; None: it has no short way


class TurnWorld:
    """One scenario; feed it batches, then take `totals`.

    `lane_of` is asked once for each model and provider of the log. Where `sessions` is a dict, what
    each session paid is added up in it.
    """

    def __init__(
        self,
        lane_of: LaneOf,
        rules_of: RulesOf,
        pricer: Pricer,
        first_token_s: float | None,
        marks_assumed: bool = False,
    ) -> None:
        self.totals = Totals()
        self.sessions: dict[SessionKey, int] | None = None
        self.desk = Desk(rules_of, first_token_s)
        self._lane_of = lane_of
        self._lanes: dict[tuple[str | None, str | None], Lane | None] = {}
        self._pricer = pricer
        self._marks_assumed = marks_assumed
        # a heap by first token; of a usual turn with the store that it writes to
        self._waiting: list[tuple[int, int, Plan | Waiting, EntryStore | None]] = []
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
        return sum(sums[0] for lane in self._used() for sums in lane.sums)

    def _used(self) -> list[Lane]:
        """Each lane once; a named model is that of every request."""
        return list(dict.fromkeys(lane for lane in self._lanes.values() if lane is not None))

    def _lane(self, model: str | None, provider: str | None) -> Lane | None:
        key = (model, provider)
        if key not in self._lanes:
            self._lanes[key] = self._lane_of(
                Request(request_id="", arrival_us=0, model=model, provider=provider)
            )
        return self._lanes[key]

    def _turns(self, columns: TurnColumns) -> None:
        lanes = self._lanes
        fixed_s, estimated = self.desk.first_token_s, 0
        rows = zip(
            columns.arrival_us, columns.account, columns.hash_scope, columns.provider,
            columns.model, columns.platform, columns.session_id,
            columns.prompt_tokens, columns.first_token_s, columns.end_s, columns.starts,
            columns.ends, strict=True,
        )  # fmt: skip
        for row, fields in enumerate(rows):
            now, owner, hashed, maker, model, host, session, total = fields[:8]
            token_s, end_s, a, b = fields[8:]
            if now > self._now:
                self._advance(now)
            name = (model, maker)
            lane = lanes[name] if name in lanes else self._lane(model, maker)
            if lane is None:
                self._ordinary(columns.request(row))
                continue
            rules = lane.rules
            key = (owner if owner is not None else hashed, model, host, None)
            blocks = _blocks(columns, row) if rules.placed else None
            plan = rules.usual(
                rules.memory.scope_of(key), session, columns, a, b, total, now, blocks
            )
            if plan is None:
                self._ordinary(columns.request(row))
                continue
            estimated += token_s is None
            delay = first_token_us(total, plan.usage.cache_read, token_s, end_s, fixed_s)
            self._arrived += 1
            if delay:
                heappush(self._waiting, (now + delay, self._arrived, plan, rules.store))
            else:
                rules.store.write(plan, now)
            paid = self._count(lane, plan, total, columns.output_tokens[row])
            if self.sessions is not None:
                own = "" if session is not None else columns.request_id(row)
                self._pay(session_of(key[0], session, own), paid)
        self.desk.estimated_first_tokens += estimated

    def _count(self, lane: Lane, plan: Plan, total: int, output: int | None) -> int:
        """One more usual turn; the picounits that it costs."""
        fresh, read, short, half, hour, half_day, _, _ = plan.usage
        band = 0
        while total < lane.bands[band][0]:
            band += 1
        sums = lane.sums[band]
        if output is None:
            self.totals.unknown_outputs += 1
        sums[0] += 1
        sums[1] += fresh
        sums[2] += read
        sums[3] += short + half
        sums[4] += hour + half_day
        sums[5] += output or 0
        unstored = plan.unstored_tokens
        sums[6] += short + half + hour + half_day > unstored
        sums[7] += fresh > 0
        if unstored:  # all that such a turn writes is of one class
            sums[8] += 1
            sums[10 if hour + half_day else 9] += unstored
        prices = lane.unit_prices[band]
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
        waiting = self._waiting
        while waiting and waiting[0][0] <= now_us:
            at, _, started, store = heappop(waiting)
            if isinstance(started, Plan):
                assert store is not None, "a usual turn comes with its store"
                store.write(started, at)
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
            heappush(self._waiting, (now + result.delay_us, ordinal + 1, result, None))
        else:
            self._add(result)

    def _add_up(self) -> None:
        """The usual turns, as if each had been added by itself: money is linear in tokens."""
        for lane in self._used():
            self._add_lane(lane)

    def _add_lane(self, lane: Lane) -> None:
        for (_, prices), sums in zip(lane.bands, lane.sums, strict=True):
            requests, fresh, read, short, long, output, with_new, with_tail, *unstored = sums
            if not requests:
                continue
            if prices.cache_write_5m is not None:
                usage = Usage(fresh, read, short, 0, long, 0, 0, output)
            else:
                usage = Usage(fresh, read, 0, short, 0, long, 0, output)
            misses = _misses(usage, unstored, prices)
            self.totals.add_many(
                requests, usage, charge(usage, prices), without_cache(usage, prices),
                zip(misses, (unstored[0], with_new, with_tail), strict=True),
                long_context=prices is not lane.bands[-1][1],
            )  # fmt: skip


def _blocks(columns: TurnColumns, row: int) -> TokenBlocks:
    tools, system = columns.tools_tokens[row], columns.system_tokens[row]
    head = None if tools is None and system is None else (tools or 0) + (system or 0)
    return TokenBlocks(columns.token_blocks(row), columns.token_block_size[row], head)


def _misses(usage: Usage, unstored: Sequence[int], prices: ClassPrices) -> list[Miss]:
    """What many usual turns did not read: text of earlier prompts that nothing was stored of, new
    text and the rounding of the last block. Either text is written for a long or a short life."""
    _, short, long = unstored
    at, segments = usage.cache_read, []
    written = usage.cache_write_1h + usage.cache_write_12h  # the long lives come first
    for part, whole in ((long, written), (short, usage.cache_write - written)):
        segments.append(Segment(at, at + part, "unknown"))
        segments.append(Segment(at + part, at + whole, "new_content"))
        at += whole
    segments.append(Segment(at, usage.prompt_tokens, "block_rounding"))
    *texts, tail = miss_costs(usage, segments, prices)
    return [_both(texts[0], texts[2]), _both(texts[1], texts[3]), tail]


def _both(one: Miss, other: Miss) -> Miss:
    assert one.cost is not None, "a lane has every price that a usual turn needs"
    assert other.cost is not None
    return Miss(one.reason, one.tokens + other.tokens, one.cost + other.cost)


def _unit_prices(prices: ClassPrices) -> tuple[int, int, int, int, int]:
    """Picounits a token: fresh, read, short write, long write, output; 0 where no turn has any."""
    short, long = prices.cache_write_5m, prices.cache_write_1h
    if short is None:
        short, long = prices.cache_write_30m, prices.cache_write_12h
    return prices.fresh or 0, prices.cache_read or 0, short or 0, long or 0, prices.output or 0
