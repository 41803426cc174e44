"""Every candidate judged over the whole log, on as many threads as are wanted."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from cachecast_pricing.rules.settings import SECOND_US, TTL_US, RuleSettings
from cachecast_sim.optimize.bound import Uses, clairvoyant
from cachecast_sim.optimize.kernel import judge
from cachecast_sim.optimize.layout import UNKNOWN, Ints, Layout, Positions, Schedule, schedule
from cachecast_sim.optimize.policy import MOST_PINGS, Policy
from cachecast_sim.optimize.tables import Events, Log, Policies, Rules

Report = Callable[[str, int, int], None]
_LEAST = np.iinfo(np.int64).max
_PARTS = 8  # pieces a thread, so that one long scope does not hold up the others


@dataclass(frozen=True, slots=True)
class Judged:
    """Every candidate's charge in picounits, and what no choice could go below.

    `per_session`: each session by its own best policy, while all others do the same as it does. It
    is within reach where sessions share no cache; where they do, each may count on writes that
    another one would rather not pay. Nothing goes below `clairvoyant`.
    """

    policies: Sequence[Policy]
    charges: Ints
    per_session: int
    clairvoyant: int

    @property
    def best(self) -> int:
        """Index of the cheapest; of several the simplest, which stands first."""
        return int(np.argmin(self.charges))


def judged(
    layout: Layout,
    names: Sequence[str],
    policies: Sequence[Policy],
    settings: RuleSettings,
    threads: int = 1,
    report: Report = lambda what, done, total: None,
) -> Judged:
    """All `policies` over the log. `names` are the places as the layout has them."""
    search = _Search(layout, names, settings, threads)
    groups: dict[tuple[int, int | None], list[int]] = defaultdict(list)
    for number, policy in enumerate(policies):
        every = None if policy.pings is None else policy.pings.every_s
        groups[search.step_of(policy), every].append(number)
    charges = np.empty(len(policies), dtype=np.int64)
    done = 0
    for (step, every), numbers in groups.items():
        report("judging policies", done, len(policies))
        charges[numbers] = search.judge(step, every, [policies[n] for n in numbers])
        done += len(numbers)
    report("judging policies", done, len(policies))
    return Judged(
        policies,
        charges + layout.constant,
        int(search.best.sum()) + layout.constant,
        search.bound() + layout.constant,
    )


class _Search:
    def __init__(
        self, layout: Layout, names: Sequence[str], settings: RuleSettings, threads: int
    ) -> None:
        self.layout = layout
        self.settings = settings
        self._index = {name: number for number, name in enumerate(names)}
        self._schedules: dict[int | None, Schedule] = {}
        self.best = np.full(int(layout.scope_sessions[-1]), _LEAST, dtype=np.int64)
        self._threads = max(1, min(threads, layout.scopes))

    def step_of(self, policy: Policy) -> int:
        """The positions that it needs: the finest of its steps that the layout has."""
        steps = [p.step for p in policy.places if p.step in self.layout.positions]
        return min((s for s in steps if s is not None), default=0)

    def judge(self, step: int, every: int | None, policies: Sequence[Policy]) -> Ints:
        """Charges of policies that share positions and pings."""
        if every not in self._schedules:
            self._schedules[every] = schedule(self.layout, every, MOST_PINGS)
        events = self._schedules[every]
        positions = self.layout.positions[step]
        bounds = self._pieces(events)
        totals = np.zeros((len(bounds) - 1, len(policies)), dtype=np.int64)
        log, happens, asked = self._log(positions), _events(events), self._policies(policies)

        def run(piece: int) -> None:
            first, last = bounds[piece], bounds[piece + 1]
            judge(first, last, log, happens, asked, self._rules(), totals[piece], self.best)

        with ThreadPoolExecutor(self._threads) as pool:
            list(pool.map(run, range(len(bounds) - 1)))
        found: Ints = totals.sum(axis=0)
        return found

    def _policies(self, policies: Sequence[Policy]) -> Policies:
        chosen = np.full((len(policies), 4), UNKNOWN, dtype=np.int64)
        lives = np.zeros((len(policies), 4), dtype=np.int64)
        times = np.zeros(len(policies), dtype=np.int64)
        for i, policy in enumerate(policies):
            for k, place in enumerate(policy.places):
                chosen[i, k], lives[i, k] = self._index[place.name], TTL_US[place.ttl]
            times[i] = 0 if policy.pings is None else policy.pings.times
        return Policies(chosen, lives, times)

    def _pieces(self, events: Schedule) -> list[int]:
        """Scopes cut into pieces of about equally many events."""
        wanted = np.linspace(0, events.scope_events[-1], self._threads * _PARTS + 1)
        cuts = np.searchsorted(events.scope_events, wanted[1:-1])
        return sorted({0, *cuts.tolist(), self.layout.scopes})

    def _log(self, positions: Positions) -> Log:
        layout, rows = self.layout, self.layout.rows
        return Log(
            positions.offsets, positions.ids, positions.tokens, positions.ordinals,
            positions.placed, positions.server_mark, rows.minimum, rows.total, rows.size,
            rows.output, rows.first_us, rows.end_us, rows.lost, rows.session,
            positions.scope_entries, layout.scope_sessions, layout.prices,
        )  # fmt: skip

    def _rules(self) -> Rules:
        fixed = self.settings.first_token_s
        return Rules(
            self.settings.lookback,
            self.settings.grace_us,
            self.settings.upgrade,
            UNKNOWN if fixed is None else round(fixed * SECOND_US),
        )

    def bound(self) -> int:
        """What no markers and no pings could go below."""
        layout, rows = self.layout, self.layout.rows
        step = min((step for step in layout.positions if step), default=0)
        positions = layout.positions[step]
        prices = layout.prices
        uses = Uses(
            positions.offsets, positions.ids, positions.tokens, positions.is_segment, rows.arrival,
            rows.total, rows.output * prices[rows.price, 4], rows.price, prices,
            int(prices[:, 1].min()), self.settings.grace_us,
        )  # fmt: skip
        return int(clairvoyant(layout.scope_requests, positions.scope_entries, uses))


def _events(events: Schedule) -> Events:
    return Events(events.scope_events, events.time, events.request, events.ping, events.price)
