"""The best markers and pings: what `cachecast optimize LOG --as SCENARIO --json` prints."""

from cachecast.dashboard.answers import Arguments, Question
from cachecast.dashboard.catalogue import catalogue
from cachecast.dashboard.folder import Folder
from cachecast.dashboard.opened import Opened
from cachecast.dashboard.questions.what_if import whatifs_of
from cachecast.dashboard.work import Answer
from cachecast.progress import Report
from cachecast.scenarios import scenario_of
from cachecast_pricing.rules.settings import OWN_TTL


def _answer(about: Opened, arguments: Arguments, folder: Folder, report: Report) -> Answer:
    from cachecast.optimize_job import optimum_of  # numba takes its time
    from cachecast.optimize_report import optimum_json

    (scenario,) = arguments
    found = optimum_of(about.trace(), scenario_of(scenario, catalogue()), catalogue(), report)
    # whoever takes it over need not wait for a second replay
    change = change_of(found.policy.mark, found.policy.change, scenario)
    whatifs_of(about, scenario).remember(change, found.replay)
    return optimum_json(found)


def change_of(mark: str, pings: str | None, scenario: str) -> str:
    """A policy as What-if asks for it. Its markers have lifetimes of their own, also where the
    scenario has one for all."""
    ttl = "" if scenario_of(scenario, catalogue()).settings.ttl is None else f",ttl={OWN_TTL}"
    return f"mark={mark}{ttl}" + ("" if pings is None else f",keep-alive={pings}")


OPTIMUM = Question("optimum", "Judging every policy", _answer)
