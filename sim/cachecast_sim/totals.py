"""Sums over ledger rows: usage, money, misses by reason, and observed against predicted."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cachecast_datasets.request import Observed, Request
from cachecast_pricing.charge import Charge
from cachecast_pricing.rules.reasons import UNAVOIDABLE
from cachecast_pricing.usage import CLASSES, PROMPT_CLASSES, Usage
from cachecast_sim.ledger import LedgerRow, Miss
from cachecast_sim.observed_gap import GapTotals
from cachecast_sim.observed_total import ObservedTotal
from cachecast_sim.sums import ColumnSums, MoneySums, MoneyTotal


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


class Totals:
    """The sums over some ledger rows of one scenario."""

    def __init__(self) -> None:
        self.requests = 0
        self.unpriced_requests = 0
        self.misses: dict[str, ReasonTotal] = {}
        self.observed: ObservedTotal | None = None
        self.observed_money = MoneySums()
        self.gaps = GapTotals()
        self.observed_unpriced = 0  # requests whose observed usage or price is incomplete
        self.unpriced_models: dict[str, int] = {}
        self.long_context_requests = 0
        self.peak_requests = 0
        self.rejections: dict[str, int] = {}  # why, and how many requests
        self.unstarted_requests = 0
        self.reported_requests = 0
        self.unknown_outputs = 0  # requests that do not tell their output
        self._usage = ColumnSums(len(CLASSES))
        self._money = MoneySums()

    def add(self, row: LedgerRow) -> None:
        """One more row."""
        self.requests += 1
        usage = row.outcome.usage
        self._usage.add(usage)
        if row.charge is None or row.without_cache is None:
            self.unpriced_requests += 1
            name = row.request.model or "unknown"
            self.unpriced_models[name] = self.unpriced_models.get(name, 0) + 1
        else:
            self._money.add(row.charge, row.without_cache, usage.cache_read > 0)
            self.long_context_requests += row.long_context
            self.peak_requests += row.in_peak
        for reason, tokens, cost in merged(row):
            self._miss(reason, 1, tokens, cost)
        self.unstarted_requests += row.outcome.unstarted
        self.reported_requests += row.outcome.as_reported
        self.unknown_outputs += row.outcome.status == "ok" and not _tells_output(row.request)
        if row.outcome.status == "rejected":
            seen = row.outcome.explanation.evidence
            why = str(seen.get("rejected") or f"status {seen.get('status')} in the log")
            self.rejections[why] = self.rejections.get(why, 0) + 1
        told = row.outcome.request.observed
        if told is not None and _tells_prompt(told):
            self._compare(row, told)

    def add_many(
        self,
        requests: int,
        usage: Usage,
        paid: Charge,
        plain: int,
        misses: Iterable[tuple[Miss, int]],
        long_context: bool,
    ) -> None:
        """Many requests that all read something: their sums, and misses with their requests."""
        self.requests += requests
        self.long_context_requests += requests if long_context else 0
        self._usage.add(usage)
        self._money.add(paid, plain, read_something=True)
        for miss, count in misses:
            if count:
                self._miss(miss.reason, count, miss.tokens, miss.cost)

    def _miss(self, reason: str, requests: int, tokens: int, cost: int | None) -> None:
        total = self.misses.get(reason)
        if total is None:
            total = self.misses[reason] = ReasonTotal(reason)
        total.requests += requests
        total.tokens += tokens
        total.cost = None if cost is None or total.cost is None else total.cost + cost

    def _compare(self, row: LedgerRow, observed: Observed) -> None:
        if self.observed is None:
            self.observed = ObservedTotal()
        self.observed.add(observed, row.usage)
        self.gaps.add(row.gaps)
        if row.observed_charge is None:
            self.observed_unpriced += 1
        else:
            self.observed_money.add(row.observed_charge, 0, False)

    @property
    def usage(self) -> Usage:
        """Tokens by class."""
        return Usage(*self._usage.sums())

    @property
    def money(self) -> MoneyTotal:
        """Charges by class."""
        return self._money.total()

    @property
    def prompt_tokens(self) -> int:
        """Tokens of every prompt that was processed."""
        return self.usage.prompt_tokens

    @property
    def priced(self) -> bool:
        """Whether any request has a price."""
        return self.requests > self.unpriced_requests

    @property
    def net_saving(self) -> int:
        """Picounits that the cache saved, write premiums paid; negative if it cost money."""
        money = self.money
        return money.without_cache - money.total

    @property
    def token_hit_ratio(self) -> float | None:
        """Read tokens over all prompt tokens; None for no tokens."""
        prompt = self.prompt_tokens
        return self.usage.cache_read / prompt if prompt else None

    @property
    def spend_hit_ratio(self) -> float | None:
        """Share of the charge that belongs to requests that read something."""
        money = self.money
        return money.spend_on_hits / money.total if money.total else None

    @property
    def avoidable_cost(self) -> int | None:
        """Picounits above the read price that the caller could have avoided; None: no price."""
        costs = [reason.cost for reason in self.misses.values() if reason.avoidable]
        known = [cost for cost in costs if cost is not None]
        return sum(known) if len(known) == len(costs) else None

    def remarks(self) -> list[str]:
        """What a reader of the sums has to know of the requests in them."""
        found = [f"{n:,} requests were rejected: {why}" for why, n in self.rejections.items()]
        if self.long_context_requests:
            found.append(
                f"{self.long_context_requests:,} prompts are beyond the long-context threshold: "
                "all of their tokens pay those prices"
            )
        if self.peak_requests:
            found.append(f"{self.peak_requests:,} requests came in peak hours and pay those prices")
        if self.unknown_outputs:
            found.append(
                f"{self.unknown_outputs:,} requests do not tell their output: charged without it"
            )
        if self.unstarted_requests:
            found.append(
                f"{self.unstarted_requests:,} aborted requests have no first token: their charge "
                "is an interval from nothing to all of it, the total shows all of it"
            )
        if self.unpriced_requests:
            names = ", ".join(f"{m} ({n:,})" for m, n in sorted(self.unpriced_models.items()))
            found.append(
                f"partial total: {self.unpriced_requests:,} of {self.requests:,} requests have "
                f"no price: {names}"
            )
        return found

    def misses_by_cost(self) -> list[ReasonTotal]:
        """Reasons, the dearest first."""
        return sorted(self.misses.values(), key=lambda r: (-(r.cost or 0), -r.tokens, r.reason))


def _tells_output(request: Request) -> bool:
    seen = request.observed
    return request.output_tokens is not None or (seen is not None and seen.output is not None)


def _tells_prompt(seen: Observed) -> bool:
    """Whether anything is known of the prompt: a usage of output alone is nothing to compare."""
    told = seen.fresh is not None or seen.cache_read is not None
    return told or any(getattr(seen, name) for name in PROMPT_CLASSES)


def merged(row: LedgerRow) -> Sequence[tuple[str, int, int | None]]:
    """A row's misses with each reason once, so that requests are counted once a reason."""
    misses = row.misses
    if len(misses) < 2 or (len(misses) == 2 and misses[0][0] != misses[1][0]):
        return misses
    sums: dict[str, tuple[int, int | None]] = {}
    for m in misses:
        tokens, cost = sums.get(m.reason, (0, 0))
        joined = None if cost is None or m.cost is None else cost + m.cost
        sums[m.reason] = (tokens + m.tokens, joined)
    return [(reason, tokens, cost) for reason, (tokens, cost) in sums.items()]
