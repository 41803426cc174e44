"""Sums of misses by reason, cause, section, model, account, session and day, in tokens and money.

The sums by reason are those of `bill`; every other grouping sums to the same tokens and money.
"""

from dataclasses import dataclass, field
from typing import Any

from cachecast_pricing.rules.families import Sold, sold
from cachecast_pricing.rules.reasons import UNAVOIDABLE
from cachecast_sim.grouping import MADE
from cachecast_sim.ledger import LedgerRow
from cachecast_sim.totals import Totals
from cachecast_sim.why.causes import Finding
from cachecast_sim.why.sections import parts_of

EXAMPLES = 3
GROUPS: tuple[str, ...] = ("section", "model", "account", "session", "day")


@dataclass(slots=True)
class Sum:
    """What was not read in one group. `cost` None: some of it has no price.

    `avoidable_cost` is the part of the cost that callers could have avoided; `spend` what the
    group's requests cost in all, None for groups that are parts of requests.
    """

    requests: int = 0
    tokens: int = 0
    cost: int | None = 0
    avoidable_cost: int | None = 0
    spend: int | None = 0
    prompt_tokens: int = 0
    breaks: int = 0
    not_a_break: int = 0

    def add(self, reason: str, tokens: int, cost: int | None) -> None:
        """Tokens that were not read for `reason`."""
        self.tokens += tokens
        self.cost = plus(self.cost, cost)
        if reason not in UNAVOIDABLE:
            self.avoidable_cost = plus(self.avoidable_cost, cost)


def plus(a: int | None, b: int | None) -> int | None:
    """The sum; unknown if either is."""
    return None if a is None or b is None else a + b


@dataclass(frozen=True, slots=True)
class Example:
    """One request that a reason cost much in."""

    request_id: str
    tokens: int
    cost: int | None
    finding: Finding


@dataclass(slots=True)
class ReasonSum:
    """One reason: its sections, its causes, and the dearest requests.

    `by_rules`: (cause, what its requests' models sell).
    """

    sections: dict[str, Sum] = field(default_factory=dict)
    causes: dict[str, Sum] = field(default_factory=dict)
    by_rules: dict[tuple[str, Sold], Sum] = field(default_factory=dict)
    examples: list[Example] = field(default_factory=list)

    def keep(self, example: Example) -> None:
        """Keep the example if it is among the dearest."""
        self.examples.append(example)
        self.examples.sort(key=lambda e: (-(e.cost or 0), -e.tokens))
        del self.examples[EXAMPLES:]


@dataclass(slots=True)
class Diagnoses:
    """The provider's own diagnoses beside ours; `examples` are requests where they disagree."""

    told: int = 0
    agree: int = 0
    disagree: int = 0
    examples: list[tuple[str, str, str]] = field(default_factory=list)  # (request, told, ours)


class Rollup:
    """Everything that `why` adds up over one scenario."""

    def __init__(self) -> None:
        self.totals = Totals()
        self.reasons: dict[str, ReasonSum] = {}
        self.causes: dict[str, Sum] = {}
        self.groups: dict[str, dict[str | None, Sum]] = {name: {} for name in GROUPS}
        self.diagnoses = Diagnoses()
        self.writes: dict[str, list[int]] = {}  # day -> observed tokens written for [5m, 1h]

    def add(self, row: LedgerRow, finding: Finding) -> None:
        """One more request."""
        self.totals.add(row)
        parts = parts_of(row)
        by_reason: dict[str, Sum] = {}
        for section, miss in parts:
            reason = self.reasons.setdefault(miss.reason, ReasonSum())
            _sum(reason.sections, section).add(*miss)
            _sum(by_reason, miss.reason).add(*miss)
            _sum(self.groups["section"], section).add(*miss)
        for section, name in {(section, miss.reason) for section, miss in parts}:
            self.reasons[name].sections[section].requests += 1
        for section in {section for section, _ in parts}:
            self.groups["section"][section].requests += 1
        self._by_cause(row, finding, by_reason)
        self._by_request(row, finding, by_reason)
        self._diagnosis(row, finding)
        seen = row.request.observed
        if seen is not None and (seen.cache_write_5m or seen.cache_write_1h):
            written = self.writes.setdefault(str(MADE["day"](row)), [0, 0])
            written[0] += seen.cache_write_5m or 0
            written[1] += seen.cache_write_1h or 0

    def tier_changes(self) -> list[tuple[str, str, str]]:
        """(day, lifetime before, lifetime from then on) of what the log says was written.

        A day counts for the lifetime that most of its written tokens have.
        """
        found, before = [], None
        for day, (short, long) in sorted(self.writes.items()):
            now = "1h" if long > short else "5m"
            if before is not None and before != now:
                found.append((day, before, now))
            before = now
        return found

    def _by_cause(self, row: LedgerRow, finding: Finding, by_reason: dict[str, Sum]) -> None:
        own = row.outcome.explanation.reason
        offered = sold(row.model, row.request.settings)
        for name, found in by_reason.items():
            # a second stretch of the same prompt has a reason of its own
            cause = finding.name if name == own else name
            for sums in (self.reasons[name].causes, self.causes):
                total = _sum(sums, cause)
                total.requests += 1
                total.breaks += finding.breaks and name == own
                total.not_a_break += not finding.breaks and name == own
                total.add(name, found.tokens, found.cost)
            by_rules = _sum(self.reasons[name].by_rules, (cause, offered))
            by_rules.add(name, found.tokens, found.cost)
            example = Example(row.request.request_id, found.tokens, found.cost, finding)
            self.reasons[name].keep(example)

    def _by_request(self, row: LedgerRow, finding: Finding, by_reason: dict[str, Sum]) -> None:
        request = row.request
        model = request.model if row.model is None else row.model.model
        own = row.outcome.explanation.reason is not None
        for name, key in (
            ("model", model), ("account", request.account), ("session", request.session_id),
            ("day", str(MADE["day"](row))),
        ):  # fmt: skip
            total = _sum(self.groups[name], key)
            total.requests += 1
            total.prompt_tokens += row.usage.prompt_tokens
            total.spend = plus(total.spend, None if row.charge is None else row.charge.total)
            total.breaks += finding.breaks and own
            total.not_a_break += not finding.breaks and own
            for reason, found in by_reason.items():
                total.add(reason, found.tokens, found.cost)

    def _diagnosis(self, row: LedgerRow, finding: Finding) -> None:
        if finding.told is None:
            return
        self.diagnoses.told += 1
        self.diagnoses.agree += finding.agrees is True
        if finding.agrees is False:
            self.diagnoses.disagree += 1
            if len(self.diagnoses.examples) < EXAMPLES:
                ours = str(finding.evidence.get("ours") or row.outcome.explanation.reason)
                self.diagnoses.examples.append((row.request.request_id, finding.told, ours))


def _sum(sums: dict[Any, Sum], key: Any) -> Sum:
    found = sums.get(key)
    if found is None:
        found = sums[key] = Sum()
    return found


def dearest(sums: dict[Any, Sum]) -> list[tuple[Any, Sum]]:
    """Groups, the dearest first."""
    return sorted(sums.items(), key=lambda item: (-(item[1].cost or 0), -item[1].tokens))
