"""A change against the baseline: what `cachecast whatif LOG --change … --json` prints."""

from functools import lru_cache

from cachecast.dashboard import kernels
from cachecast.dashboard.answers import Arguments, Question
from cachecast.dashboard.catalogue import catalogue
from cachecast.dashboard.folder import Folder
from cachecast.dashboard.opened import Opened
from cachecast.dashboard.questions.fleet import fleet_jobs
from cachecast.dashboard.what_if.fleets import fleet_of
from cachecast.dashboard.work import Answer
from cachecast.kept_turns import KeptTurns
from cachecast.progress import Report
from cachecast.scenarios import scenario_of
from cachecast.whatif_job import FLEET, WhatIfs
from cachecast.whatif_report import whatif_json
from cachecast_datasets.trace import Trace


def change_text(change: str, folder: Folder) -> str:
    """The change as the command takes it: own servers become a fleet file in the folder.

    BadInput for a fleet that is a path: an address that somebody sent opens no files.
    """
    for part in change.split(","):
        name, _, value = (piece.strip() for piece in part.partition("="))
        if name == FLEET:
            fleet = fleet_of(value)
            if part.strip() == change.strip():
                path = folder.upload("fleet.toml", fleet.toml().encode())
                return f"{FLEET}={path}"
    return change


def _answer(about: Opened, arguments: Arguments, folder: Folder, report: Report) -> Answer:
    """Without a change, the baseline alone."""
    scenario, *changes = arguments
    asked = whatifs_of(about, scenario)
    found = [asked.change(change_text(change, folder), report) for change in changes]
    return whatif_json(asked.baseline(report), found)


def whatifs_of(about: Opened, scenario: str) -> WhatIfs:
    """The what-ifs of a log under a scenario, with what was replayed before."""
    return _asked(about.key, about.trace(), scenario)


@lru_cache(maxsize=8)
def _asked(key: str, trace: Trace, scenario: str) -> WhatIfs:
    """One object for a log and a scenario: its baseline is replayed once."""
    return WhatIfs(
        trace, scenario_of(scenario, catalogue()), catalogue(), jobs=fleet_jobs(key, trace),
        turns=_turns(key, trace), compiled=kernels.ready,
    )  # fmt: skip


@lru_cache(maxsize=1)  # a hundred megabytes perhaps
def _turns(key: str, trace: Trace) -> KeptTurns:
    """The turns of the log that is open, whatever the scenario."""
    return KeptTurns(trace)


WHAT_IF = Question("whatif", "Replaying the log", _answer)
