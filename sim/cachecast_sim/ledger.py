"""The ledger: one row per request and scenario, exact charges, and what each miss cost."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from cachecast_datasets.errors import BadInput
from cachecast_datasets.request import Observed, Request
from cachecast_pricing.charge import Charge, NoPrice
from cachecast_pricing.model_ids import ModelRef
from cachecast_pricing.rates import ClassPrices
from cachecast_pricing.rules.families import family_of, has_rules
from cachecast_pricing.rules.reasons import Segment
from cachecast_pricing.usage import CLASSES, Usage
from cachecast_sim.iterations import Part, charge_of, parts_of, without_cache_of
from cachecast_sim.observed_gap import Case, Gap, gaps_of
from cachecast_sim.pricer import Moment, Pricer
from cachecast_sim.provider import Outcome

# From the hit upwards a prompt is written for long, then for short lives, then fresh.
WRITE_ORDER = (
    "cache_write_12h", "cache_write_1h", "cache_write_30m", "cache_write_5m", "cache_write_unknown",
)  # fmt: skip


class Miss(NamedTuple):
    """Tokens of one request that were not read for one reason.

    `cost` = picounits above the read price; None where a price is missing.
    """

    reason: str
    tokens: int
    cost: int | None


@dataclass(slots=True)
class LedgerRow:
    """One request under one scenario. Money in picounits; `charge` None: no price.

    `observed_charge` is what the log's own usage costs at the same prices, None where the log does
    not tell every class. `long_context`: the prompt is beyond the threshold of its price band.
    `gaps` says why prediction and observed usage differ. `prices` are those of the request's band,
    None where a price is missing.
    """

    outcome: Outcome
    model: ModelRef | None
    charge: Charge | None
    without_cache: int | None
    misses: list[Miss]
    long_context: bool = False
    in_peak: bool = False
    observed_charge: Charge | None = None
    gaps: Sequence[Gap] = ()
    prices: ClassPrices | None = None

    @property
    def request(self) -> Request:
        """The request of the log."""
        return self.outcome.request

    @property
    def usage(self) -> Usage:
        """Its tokens by class."""
        return self.outcome.usage


def ledger(
    outcomes: Iterable[Outcome], pricer: Pricer, marks_assumed: bool = False
) -> Iterator[LedgerRow]:
    """The outcomes with their charges, in the same order."""
    for outcome in outcomes:
        yield row_of(outcome, pricer, marks_assumed)


def row_of(outcome: Outcome, pricer: Pricer, marks_assumed: bool = False) -> LedgerRow:
    """One outcome priced: the charge, the charge without any cache, the cost of each miss.

    `marks_assumed`: the log cannot show markers, so that a policy stood in for them.
    """
    row = _priced(outcome, pricer)
    seen = outcome.request.observed
    if seen is not None:
        row.gaps = gaps_of(seen, _case(row, pricer, marks_assumed))
    return row


def _case(row: LedgerRow, pricer: Pricer, marks_assumed: bool) -> Case:
    request, explanation = row.request, row.outcome.explanation
    own = pricer.catalog.find(request.model, request.provider)
    served = pricer.catalog.find(request.model_served, request.provider)
    same = request.model is None or own == row.model
    ref = row.model
    marked = (
        ref is not None
        and has_rules(ref.provider)
        and (family_of(ref.provider, ref.model) == "marked")
    )
    return Case(
        row.usage,
        explanation.reason,
        same and (served is None or served == row.model),
        marks_assumed and marked,
        row.charge,
        row.observed_charge,
    )


def _priced(outcome: Outcome, pricer: Pricer) -> LedgerRow:
    request, usage = outcome.request, outcome.usage
    ref = pricer.model_of(request)
    moment = None if ref is None else pricer.moment(request, ref)
    segments = outcome.explanation.segments
    if moment is None or not outcome.complete:
        return LedgerRow(outcome, ref, None, None, _unpriced(segments))
    prices = moment.prices(usage.prompt_tokens)
    seen = request.observed
    iterations = [] if seen is None else parts_of(request, seen, moment, pricer)
    parts = iterations if iterations and outcome.as_reported else [(usage, moment)]
    try:
        paid, plain = charge_of(parts), without_cache_of(parts)
    except NoPrice as problem:
        pricer.assumptions[f"no price: {moment.card.model}, {problem}"] = None
        return LedgerRow(outcome, ref, None, None, _unpriced(segments))
    if moment.peak is not None:
        paid = paid._replace(high=charge_of([(one, at.peak or at) for one, at in parts]).high)
    if outcome.unstarted:  # billed somewhere between not at all and in full
        paid = paid._replace(low=0)
    if outcome.unknown_tokens:
        paid = _with_unknown(paid, prices, outcome.unknown_tokens)
    long_context = any(at.is_long(one.prompt_tokens) for one, at in parts)
    costs = miss_costs(usage, segments, prices)
    row = LedgerRow(outcome, ref, paid, plain, costs, long_context, moment.in_peak, prices=prices)
    if seen is not None:
        row.observed_charge = _observed_charge(seen, moment, iterations)
    return row


def _observed_charge(seen: Observed, moment: Moment, iterations: list[Part]) -> Charge | None:
    classes = {name: getattr(seen, name) for name in CLASSES}
    if None in classes.values():
        return None
    try:
        return charge_of(iterations or [(Usage(**classes), moment)])
    except NoPrice:
        return None


def _with_unknown(paid: Charge, prices: ClassPrices, tokens: int) -> Charge:
    """The interval of tokens charged as fresh whose class is unknown: all read to all written."""
    assert prices.fresh is not None  # they were charged as fresh
    cheapest = min(p for p in (prices.fresh, prices.cache_read) if p is not None)
    dearest = max((prices.fresh, *prices.write_prices))
    low = paid.low - tokens * (prices.fresh - cheapest)
    return paid._replace(low=low, high=paid.high + tokens * (dearest - prices.fresh))


def _unpriced(segments: Iterable[Segment]) -> list[Miss]:
    return [Miss(s.reason, s.end - s.start, None) for s in segments]


def miss_costs(usage: Usage, segments: Iterable[Segment], prices: ClassPrices) -> list[Miss]:
    """What each segment cost above the read price, from the classes that its tokens fell in.

    A model without a read price has no such cost (None), except for segments of no tokens.
    """
    read_price = prices.cache_read
    if read_price is None:
        return [Miss(s.reason, s.tokens, None if s.tokens else 0) for s in segments]
    spans = _spans(usage, prices, read_price)
    misses = []
    for start, end, reason in segments:
        cost, low = 0, usage.cache_read
        for high, premium in spans:
            if low < end and high > start:
                cost += ((high if high < end else end) - (low if low > start else start)) * premium
            low = high
        misses.append(Miss(reason, end - start, cost))
    return misses


def _spans(usage: Usage, prices: ClassPrices, read_price: int) -> list[tuple[int, int]]:
    """(end, picounits a token above the read price) of the unread stretches, from the hit on."""
    at = usage.cache_read
    spans = []
    if usage.cache_write:
        for name in WRITE_ORDER:
            tokens: int = getattr(usage, name)
            if tokens:
                at += tokens
                spans.append((at, write_price(prices, name) - read_price))
    if usage.fresh and prices.fresh is not None:
        spans.append((at + usage.fresh, prices.fresh - read_price))
    return spans


def write_price(prices: ClassPrices, name: str) -> int:
    """The price of a write class; an unknown lifetime takes the cheapest there is."""
    if name == "cache_write_unknown":
        return min(prices.write_prices)
    price: int | None = getattr(prices, name)
    if price is None:
        raise BadInput(f"no price for {name}")
    return price
