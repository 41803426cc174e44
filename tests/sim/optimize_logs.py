"""Policies over a small log: all judged at once, and one by the way that `bill` goes."""

import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rule_sketches import Line

from cachecast_datasets.importing import open_or_import
from cachecast_datasets.log_meta import LogMeta
from cachecast_datasets.request import Request
from cachecast_pricing.catalog import Catalog, load_catalog
from cachecast_pricing.rules.settings import RuleSettings
from cachecast_sim.billing import Billing
from cachecast_sim.optimize.policy import Policy
from cachecast_sim.optimize.reading import LayoutMaker
from cachecast_sim.optimize.search import Judged, judged
from cachecast_sim.scenario import Scenario
from cachecast_sim.sessions import session_key
from cachecast_sim.whatif.change import Change, ChangedLog
from cachecast_sim.whatif.changes.keep_alive import KeepAlive
from cachecast_sim.whatif.replay import Replay, replay

CATALOG: Catalog = load_catalog()


@dataclass(frozen=True)
class SmallLog:
    """Requests with what their log says of itself."""

    requests: Sequence[Request]
    meta: LogMeta

    def judged(
        self, scenario: Scenario, names: Sequence[str], steps: Sequence[int], policies: list[Policy]
    ) -> Judged:
        """All the policies, the fast way."""
        billing = Billing(scenario, CATALOG, self.meta)
        assert billing.rulebook is not None
        maker = LayoutMaker(billing.pricer, billing.rulebook, names, steps)
        for ordinal, request in enumerate(self.requests):
            maker.add(request, ordinal)
        return judged(maker.layout(), names, policies, scenario.settings)

    def replayed(self, scenario: Scenario, policy: Policy) -> Replay:
        """One policy, by the ordinary rules and events, pings sent as requests."""
        settings = replace(scenario.settings, mark=policy.mark, ttl=None)
        changes: list[Change] = []
        if policy.pings is not None:
            changes.append(KeepAlive("", policy.pings.every_s, policy.pings.times))
        sessions = {r.request_id: session_key(r) for r in self.requests}
        log = ChangedLog(list(self.requests))
        return replay(
            replace(scenario, settings=settings), changes, log, CATALOG, self.meta, sessions
        )


def scenario(model: str, settings: RuleSettings | None = None) -> Scenario:
    """A scenario by its model."""
    return Scenario("s", CATALOG.resolve(model), settings or RuleSettings())


def from_sketch(lines: Sequence[Line]) -> SmallLog:
    """Sketch lines through the real reader."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log.jsonl"
        log.write_text("".join(json.dumps(entry) + "\n" for entry in lines))
        trace = open_or_import([log], tmp_dir=Path(folder))
        return SmallLog(list(trace.requests()), trace.meta)
