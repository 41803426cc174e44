"""The `optimize` job: the log's own policy, every candidate, the winner by the ordinary path."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace

from cachecast.progress import Report
from cachecast.whatif_job import session_keys
from cachecast_datasets.errors import BadInput, EvidenceError
from cachecast_datasets.trace import Trace
from cachecast_pricing.catalog import Catalog
from cachecast_pricing.model_ids import ModelRef
from cachecast_pricing.rules.families import PLACED, family_of
from cachecast_sim.billing import Billing
from cachecast_sim.optimize.policy import (
    BLOCK_STEPS,
    TOKEN_BLOCK_STEPS,
    Policy,
    candidates,
    place_names,
)
from cachecast_sim.optimize.reading import LayoutMaker
from cachecast_sim.optimize.search import Judged, judged
from cachecast_sim.scenario import Scenario
from cachecast_sim.sessions import SessionKey
from cachecast_sim.whatif.change import ChangedLog
from cachecast_sim.whatif.changes.keep_alive import KeepAlive
from cachecast_sim.whatif.compare import Difference, difference
from cachecast_sim.whatif.replay import Replay, replay

_IN_WORDS = ("text", "blocks")


@dataclass(frozen=True, slots=True)
class Optimum:
    """The best policy for a log: judged with all others, and replayed by the ordinary path."""

    policy: Policy
    baseline: Replay
    replay: Replay
    difference: Difference
    judged: Judged
    assumptions: list[str]

    def simpler(self) -> list[tuple[Policy, int]]:
        """The best policy, and its charge, of each number of markers, without pings."""
        found: dict[int, tuple[Policy, int]] = {}
        for policy, charge in zip(self.judged.policies, self.judged.charges.tolist(), strict=True):
            count = len(policy.places)
            if policy.pings is None and (count not in found or charge < found[count][1]):
                found[count] = (policy, charge)
        return list(found.values())


def optimum_of(
    trace: Trace,
    scenario: Scenario,
    catalog: Catalog,
    report: Report = lambda what, done, total: None,
) -> Optimum:
    """The cheapest policy for the log under the scenario's model.

    Raises BadInput where the model takes no markers, EvidenceError where the log does not tell
    which prompts share what.
    """
    _check(trace, scenario)
    steps = BLOCK_STEPS if trace.meta.evidence in _IN_WORDS else TOKEN_BLOCK_STEPS
    names = place_names(steps)
    billing = Billing(scenario, catalog, trace.meta)
    assert billing.rulebook is not None  # the log has more than counts
    maker = LayoutMaker(billing.pricer, billing.rulebook, names, steps)
    columns = (*billing.columns(), "token_blocks")
    for ordinal, request in enumerate(trace.requests(columns=columns)):
        if ordinal % 2_048 == 0:
            report("reading", ordinal, trace.rows)
        maker.add(request, ordinal)
    layout = maker.layout()
    there = layout.places_there(names)
    found = judged(layout, names, candidates(there), scenario.settings, _cores(), report)
    policy = found.policies[found.best]
    sessions = session_keys(trace)
    baseline = _replayed(trace, scenario, None, catalog, sessions)
    best = _replayed(trace, _under(scenario, policy), policy, catalog, sessions)
    told, replayed = int(found.charges[found.best]), best.totals.money.total
    assert told == replayed, f"{policy}: judged at {told}, replayed at {replayed} picounits"
    return Optimum(
        policy, baseline, best, difference(best, baseline), found,
        [*_space(there, steps), *best.assumptions],
    )  # fmt: skip


def _cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _check(trace: Trace, scenario: Scenario) -> None:
    model = scenario.model
    if trace.meta.evidence == "counts":
        raise EvidenceError(
            "optimize needs a log that tells which prompts share what (content blocks, token "
            "blocks or token ids), this one has counts only"
        )
    if model is not None and family_of(model.provider, model.model) not in PLACED:
        raise BadInput(f"--as {model.model}: {_its_way(model)}; optimize takes Anthropic's models")


def _its_way(model: ModelRef) -> str:
    """Why there is no place and lifetime to choose, and what there is."""
    if family_of(model.provider, model.model) == "written":
        return (
            "the only choice is whether to add breakpoints to those of the provider, which "
            "cachecast whatif --change mark=translate --change mark=auto compares"
        )
    return f"{model.provider} chooses by itself where it caches"


def _under(scenario: Scenario, policy: Policy) -> Scenario:
    settings = replace(scenario.settings, mark=policy.mark, ttl=None)
    return replace(scenario, name=policy.mark, settings=settings)


def _replayed(
    trace: Trace,
    scenario: Scenario,
    policy: Policy | None,
    catalog: Catalog,
    sessions: dict[str, SessionKey],
) -> Replay:
    changes = []
    if policy is not None and policy.pings is not None:
        text = f"keep-alive={policy.change}"
        changes.append(KeepAlive(text, policy.pings.every_s, policy.pings.times))
    columns = Billing(scenario, catalog, trace.meta).columns()
    log = ChangedLog(trace.requests(columns=columns))
    return replay(scenario, changes, log, catalog, trace.meta, sessions)


def _space(names: Sequence[str], steps: Sequence[int]) -> list[str]:
    """What was searched, and what the winner may owe to a rule of billing."""
    found = [
        f"policies are up to four of {', '.join(names)}, 5m or 1h each, alone or with pings every "
        "240 or 290 s (3300 s for 1h), one to six times: the same for the whole log",
        "a 1h marker behind a read pays the 1h price only for the tokens between them, and makes "
        "the whole prefix live an hour (Anthropic's rule for mixed lifetimes, 2026-08-22)",
    ]
    if steps == TOKEN_BLOCK_STEPS:
        found.append(
            "this log knows token blocks only: everyN stands for a marker on the content block "
            "that ends nearest to every N-th token block, and the first user message is not known"
        )
    return found
