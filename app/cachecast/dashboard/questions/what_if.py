"""A change against the baseline: what `cachecast whatif LOG --change … --json` prints."""

from collections.abc import Callable
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
    return _of_log(about.key, about.trace())(scenario)


@lru_cache(maxsize=2)  # logs: the turns and jobs of one take some hundred megabytes
def _of_log(key: str, trace: Trace) -> Callable[[str], WhatIfs]:
    """A log's what-ifs under a scenario; its turns and its jobs are those of all scenarios."""
    jobs, turns = fleet_jobs(key, trace), KeptTurns(trace)

    @lru_cache(maxsize=8)
    def asked(scenario: str) -> WhatIfs:
        """One object for a scenario: its baseline is replayed once."""
        return WhatIfs(
            trace, scenario_of(scenario, catalogue()), catalogue(), jobs=jobs, turns=turns,
            compiled=kernels.ready,
        )  # fmt: skip

    return asked


WHAT_IF = Question("whatif", "Replaying the log", _answer)
