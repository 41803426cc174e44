"""The `whatif` job: a log replayed as it is, then once for each `--change`."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from cachecast.cycle_collector import without_cycle_collector
from cachecast.fleet_file import FilesBeside, check_fleet, load_fleet
from cachecast.fleet_jobs import FleetJobs
from cachecast.kept_turns import KeptTurns
from cachecast.progress import Report, nothing_to_report
from cachecast.simulating import check_served, serve
from cachecast.simulating_logs import Progress
from cachecast_datasets.errors import BadInput
from cachecast_datasets.request import Request
from cachecast_datasets.trace import Trace
from cachecast_pricing.catalog import Catalog
from cachecast_sim.billing import Billing
from cachecast_sim.fleet.run import FleetRun
from cachecast_sim.scenario import Scenario
from cachecast_sim.sessions import SessionKey, session_key
from cachecast_sim.whatif.change import Change, ChangedLog, check_evidence
from cachecast_sim.whatif.changes import change_of
from cachecast_sim.whatif.compare import Difference, difference
from cachecast_sim.whatif.replay import Replay, replay, replay_turns

FLEET = "fleet"
REPORT_EVERY = 2_048  # requests between two progress reports


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


class WhatIfs:
    """A log under a scenario, whose changes are asked for one by one; its baseline runs once.

    `jobs` and `turns` are those of the trace, where they are kept for others too; `compiled` says
    whether fleets may be served in machine code by now.
    """

    def __init__(
        self, trace: Trace, scenario: Scenario, catalog: Catalog, *, jobs: FleetJobs | None = None,
        turns: KeptTurns | None = None, compiled: Callable[[], bool] = lambda: False,
    ) -> None:  # fmt: skip
        self.scenario = scenario
        self._jobs = FleetJobs(trace) if jobs is None else jobs
        self._compiled = compiled
        self._trace = trace
        self._catalog = catalog
        self._baseline: Replay | None = None
        self._sessions: dict[str, SessionKey] | None = None
        self._known: dict[str, Replay] = {}
        self._turns = KeptTurns(trace) if turns is None else turns

    def remember(self, text: str, made: Replay) -> None:
        """`made` is this log under that `--change`, which then need not be replayed again.

        It is forgotten where it was made under other rules or prices than the change asks for.
        """
        changes = self.checked(text)
        assert isinstance(changes, list), "a replay is of a change, not of a fleet"
        scenario = replace(_after(self.scenario, changes), name=text)
        if replace(made.scenario, name=text) == scenario:
            self._known[text] = replace(made, scenario=scenario)

    def baseline(self, report: Report = nothing_to_report) -> Replay:
        """The log replayed as it is."""
        if self._baseline is None:
            self._baseline = self._replay(self.scenario, (), report)
        return self._baseline

    def change(self, text: str, report: Report = nothing_to_report) -> WhatIf | OwnFleet:
        """One `--change` against the baseline.

        Raises BadInput for what does not exist; EvidenceError where the log does not tell what a
        change needs.
        """
        changes = self.checked(text)
        if isinstance(changes, FleetRun):
            progress = Progress(report, self._trace.rows)
            serve(self._jobs.of(changes, progress), changes, [progress.served])
            check_served(changes)
            return OwnFleet(text, changes)
        changed = self._known.get(text)
        if changed is None:
            changed = self._replay(replace(self.scenario, name=text), changes, report)
        return WhatIf(text, changed, difference(changed, self.baseline(report)))

    def checked(self, text: str) -> list[Change] | FleetRun:
        """What a `--change` asks for, without any work. BadInput for what does not exist."""
        changes = changes_of(text, self._catalog)
        if isinstance(changes, Path):
            return _fleet(changes, self._compiled())
        for change in changes:
            check_evidence(change, self._trace.meta.evidence)
        Billing(_after(self.scenario, changes), self._catalog, self._trace.meta)
        return changes

    def _replay(self, scenario: Scenario, changes: Sequence[Change], report: Report) -> Replay:
        """By the columnar path where there is one."""
        trace, catalog, meta = self._trace, self._catalog, self._trace.meta
        with without_cycle_collector():
            if trace.ours:
                after = Billing(_after(scenario, changes), catalog, meta)
                wanted = after.turn_columns(trace.models)
                turns = self._turns.batches(wanted, scenario.name, report)
                fast = replay_turns(scenario, changes, turns, catalog, meta)
                if fast is not None:
                    return fast
            if self._sessions is None:
                self._sessions = session_keys(trace)
            both = (scenario, _after(scenario, changes))
            columns = {name for one in both for name in Billing(one, catalog, meta).columns()}
            log = ChangedLog(_requests(trace, columns, scenario.name, report))
            return replay(scenario, changes, log, catalog, meta, self._sessions)


def whatifs_of(
    trace: Trace,
    scenario: Scenario,
    texts: Sequence[str],
    catalog: Catalog,
    report: Report = nothing_to_report,
) -> tuple[Replay, list[WhatIf | OwnFleet]]:
    """The replayed baseline, and each change against it.

    Raises BadInput before the first request for anything that a person named and that does not
    exist; EvidenceError where the log does not tell what a change needs.
    """
    asked = WhatIfs(trace, scenario, catalog)
    for text in texts:
        asked.checked(text)
    parts = len(texts) + 1
    baseline = asked.baseline(_part(report, 0, parts))
    found = [
        asked.change(text, _part(report, number, parts)) for number, text in enumerate(texts, 1)
    ]
    report("done", parts, parts)
    return baseline, found


def _after(scenario: Scenario, changes: Sequence[Change]) -> Scenario:
    for change in changes:
        scenario = change.scenario(scenario)
    return scenario


def _part(report: Report, number: int, parts: int) -> Report:
    """The progress of one part of several equally long ones."""
    return lambda what, done, total: report(what, number * total + done, parts * total)


def _requests(
    trace: Trace, columns: Collection[str], name: str, report: Report
) -> Iterator[Request]:
    for done, request in enumerate(trace.requests(columns=columns)):
        if done % REPORT_EVERY == 0:
            report(name, done, trace.rows)
        yield request


def session_keys(trace: Trace) -> dict[str, SessionKey]:
    """What each request's money counts toward, by its id."""
    columns = ("account", "hash_scope", "session_id")
    return {request.request_id: session_key(request) for request in trace.requests(columns=columns)}


def _fleet(path: Path, compiled: bool) -> FleetRun:
    config, files = load_fleet(path, ()), FilesBeside(path)
    check_fleet(path, config, files)
    return FleetRun(config, files, compiled=compiled)
