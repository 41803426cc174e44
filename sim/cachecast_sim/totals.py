"""Sums over ledger rows: usage, money, misses by reason, and observed against predicted."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from cachecast_datasets.request import Observed
from cachecast_pricing.charge import Charge
from cachecast_pricing.rules.reasons import UNAVOIDABLE
from cachecast_pricing.usage import CLASSES, Usage
from cachecast_sim.ledger import LedgerRow


@dataclass(slots=True)
class ReasonTotal:
    """Everything that was not read for one reason. `cost` None: some of it has no price."""

    reason: str
    requests: int = 0
    tokens: int = 0
    cost: int | None = 0

    @property
    def avoidable(self) -> bool:
        """Whether the caller could have done something about it."""
        return self.reason not in UNAVOIDABLE


class UsageTotal:
    """Token classes summed up as plain ints."""

    __slots__ = CLASSES

    def __init__(self) -> None:
        self.fresh = self.cache_read = self.output = 0
        self.cache_write_5m = self.cache_write_30m = self.cache_write_1h = 0
        self.cache_write_12h = self.cache_write_unknown = 0

    def add(self, usage: Usage) -> None:
        """One more request."""
        self.fresh += usage.fresh
        self.cache_read += usage.cache_read
        self.cache_write_5m += usage.cache_write_5m
        self.cache_write_30m += usage.cache_write_30m
        self.cache_write_1h += usage.cache_write_1h
        self.cache_write_12h += usage.cache_write_12h
        self.cache_write_unknown += usage.cache_write_unknown
        self.output += usage.output

    def usage(self) -> Usage:
        """The sum as a usage."""
        return Usage(**{name: getattr(self, name) for name in CLASSES})


class MoneyTotal:
    """Charges summed up; nothing is added for a request that has no price."""

    __slots__ = (
        "cache_read", "cache_write", "currency", "fresh", "high", "low", "output", "spend_on_hits",
        "storage", "total", "without_cache",
    )  # fmt: skip

    def __init__(self) -> None:
        self.currency: str | None = None
        self.fresh = self.cache_read = self.cache_write = self.output = self.storage = 0
        self.low = self.high = self.total = self.without_cache = self.spend_on_hits = 0

    def add(self, paid: Charge, plain: int, read_something: bool) -> None:
        """One more request."""
        total = paid.total
        self.currency = paid.currency
        self.fresh += paid.fresh
        self.cache_read += paid.cache_read
        self.cache_write += paid.cache_write
        self.output += paid.output
        self.storage += paid.storage
        self.total += total
        self.low += paid.low
        self.high += paid.high
        self.without_cache += plain
        if read_something:
            self.spend_on_hits += total


@dataclass(slots=True)
class ObservedTotal:
    """What the log reported, and what was predicted for the same requests.

    A class is None once any of the requests does not tell it.
    """

    requests: int = 0
    observed: dict[str, int | None] = field(default_factory=lambda: dict.fromkeys(CLASSES, 0))
    predicted: dict[str, int] = field(default_factory=lambda: dict.fromkeys(CLASSES, 0))

    def add(self, observed: Observed, usage: Usage) -> None:
        """One request that carries observed usage."""
        self.requests += 1
        for name in CLASSES:
            self.predicted[name] += getattr(usage, name)
            seen, so_far = getattr(observed, name), self.observed[name]
            self.observed[name] = None if seen is None or so_far is None else so_far + seen

    def difference(self) -> dict[str, int | None]:
        """Predicted minus observed, by class; None where it is unknown."""
        return {
            name: None if seen is None else self.predicted[name] - seen
            for name, seen in self.observed.items()
        }


class Totals:
    """The sums over some ledger rows of one scenario."""

    def __init__(self) -> None:
        self.requests = 0
        self.unpriced_requests = 0
        self.usage = UsageTotal()
        self.money = MoneyTotal()
        self.misses: dict[str, ReasonTotal] = {}
        self.observed: ObservedTotal | None = None
        self.observed_money = MoneyTotal()
        self.observed_unpriced = 0  # requests whose observed usage or price is incomplete
        self.unpriced_models: dict[str, int] = {}

    def add(self, row: LedgerRow) -> None:
        """One more row."""
        self.requests += 1
        usage = row.usage
        self.usage.add(usage)
        if row.charge is None or row.without_cache is None:
            self.unpriced_requests += 1
            name = row.request.model or "unknown"
            self.unpriced_models[name] = self.unpriced_models.get(name, 0) + 1
        else:
            self.money.add(row.charge, row.without_cache, usage.cache_read > 0)
        for reason, tokens, cost in merged(row):
            total = self.misses.get(reason)
            if total is None:
                total = self.misses[reason] = ReasonTotal(reason)
            total.requests += 1
            total.tokens += tokens
            total.cost = None if cost is None or total.cost is None else total.cost + cost
        if row.request.observed is not None:
            if self.observed is None:
                self.observed = ObservedTotal()
            self.observed.add(row.request.observed, usage)
            if row.observed_charge is None:
                self.observed_unpriced += 1
            else:
                self.observed_money.add(row.observed_charge, 0, False)

    @property
    def prompt_tokens(self) -> int:
        """Tokens of every prompt that was processed."""
        return self.usage.usage().prompt_tokens

    @property
    def priced(self) -> bool:
        """Whether any request has a price."""
        return self.requests > self.unpriced_requests

    @property
    def net_saving(self) -> int:
        """Picounits that the cache saved, write premiums paid; negative if it cost money."""
        return self.money.without_cache - self.money.total

    @property
    def token_hit_ratio(self) -> float | None:
        """Read tokens over all prompt tokens; None for no tokens."""
        prompt = self.prompt_tokens
        return self.usage.cache_read / prompt if prompt else None

    @property
    def spend_hit_ratio(self) -> float | None:
        """Share of the charge that belongs to requests that read something."""
        total = self.money.total
        return self.money.spend_on_hits / total if total else None

    def misses_by_cost(self) -> list[ReasonTotal]:
        """Reasons, the dearest first."""
        return sorted(self.misses.values(), key=lambda r: (-(r.cost or 0), -r.tokens, r.reason))


def merged(row: LedgerRow) -> Iterable[tuple[str, int, int | None]]:
    """A row's misses with each reason once, so that requests are counted once a reason."""
    misses = row.misses
    if len({m.reason for m in misses}) == len(misses):
        return [(m.reason, m.tokens, m.cost) for m in misses]
    sums: dict[str, tuple[int, int | None]] = {}
    for m in misses:
        tokens, cost = sums.get(m.reason, (0, 0))
        joined = None if cost is None or m.cost is None else cost + m.cost
        sums[m.reason] = (tokens + m.tokens, joined)
    return [(reason, tokens, cost) for reason, (tokens, cost) in sums.items()]
