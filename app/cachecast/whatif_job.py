"""The `whatif` job: a log replayed as it is, then once for each `--change`."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from cachecast.fleet_file import FilesBeside, check_fleet, load_fleet
from cachecast.progress import Report
from cachecast.simulating import check_served, serve
from cachecast.simulating_logs import requests_of
from cachecast_datasets.errors import BadInput
from cachecast_datasets.trace import Trace
from cachecast_pricing.catalog import Catalog
from cachecast_sim.billing import Billing
from cachecast_sim.fleet.run import FleetRun
from cachecast_sim.scenario import Scenario
from cachecast_sim.whatif.change import Change, ChangedLog, check_evidence
from cachecast_sim.whatif.changes import change_of
from cachecast_sim.whatif.compare import Difference, difference
from cachecast_sim.whatif.replay import Replay, SessionKey, replay, session_key

FLEET = "fleet"


@dataclass(frozen=True, slots=True)
class WhatIf:
    """One `--change`: its replay, or its fleet run, beside the baseline."""

    name: str
    replay: Replay
    difference: Difference


@dataclass(frozen=True, slots=True)
class OwnFleet:
    """The log on servers of one's own, instead of an API."""

    name: str
    run: FleetRun


def changes_of(text: str, catalog: Catalog) -> list[Change] | Path:
    """The changes of one `--change`, in order, or the fleet file of `fleet=FILE`."""
    parts = [part.strip() for part in text.split(",")]
    fleets = [part for part in parts if part.partition("=")[0].strip() == FLEET]
    if fleets and len(parts) > 1:
        raise BadInput(f"--change {text}: fleet=FILE stands alone: it replaces the provider")
    if fleets:
        return Path(parts[0].partition("=")[2].strip())
    names = [part.partition("=")[0].strip() for part in parts]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise BadInput(f"--change {text}: {twice[0]} is given twice")
    return [change_of(part, catalog, FLEET) for part in parts]


def whatifs_of(
    trace: Trace,
    scenario: Scenario,
    texts: Sequence[str],
    catalog: Catalog,
    report: Report = lambda what, done, total: None,
) -> tuple[Replay, list[WhatIf | OwnFleet]]:
    """The replayed baseline, and each change against it.

    Raises BadInput before the first request for anything that a person named and that does not
    exist; EvidenceError where the log does not tell what a change needs.
    """
    asked = [(text, changes_of(text, catalog)) for text in texts]
    columns = set(Billing(scenario, catalog, trace.meta).columns())
    fleets = {}
    for text, changes in asked:
        if isinstance(changes, Path):
            fleets[text] = _fleet(changes)
            continue
        after = scenario
        for change in changes:
            check_evidence(change, trace.meta.evidence)
            after = change.scenario(after)
        columns |= set(Billing(after, catalog, trace.meta).columns())
    sessions = session_keys(trace)

    def run(name: str, number: int, changes: Sequence[Change]) -> Replay:
        report(name, number, len(asked) + 1)
        log = ChangedLog(trace.requests(columns=columns))
        named = replace(scenario, name=name)
        return replay(named, changes, log, catalog, trace.meta, sessions)

    baseline = run(scenario.name, 0, ())
    found: list[WhatIf | OwnFleet] = []
    for number, (text, changes) in enumerate(asked, start=1):
        if isinstance(changes, Path):
            serve(requests_of(trace, report), fleets[text])
            check_served(fleets[text])
            found.append(OwnFleet(text, fleets[text]))
        else:
            changed = run(text, number, changes)
            found.append(WhatIf(text, changed, difference(changed, baseline)))
    report("done", len(asked) + 1, len(asked) + 1)
    return baseline, found


def session_keys(trace: Trace) -> dict[str, SessionKey]:
    """What each request's money counts toward, by its id."""
    columns = ("account", "hash_scope", "session_id")
    return {request.request_id: session_key(request) for request in trace.requests(columns=columns)}


def _fleet(path: Path) -> FleetRun:
    config, files = load_fleet(path, ()), FilesBeside(path)
    check_fleet(path, config, files)
    return FleetRun(config, files)
