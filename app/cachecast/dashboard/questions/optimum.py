"""The best markers and pings: what `cachecast optimize LOG --as SCENARIO --json` prints."""

from cachecast.dashboard.answers import Arguments, Question
from cachecast.dashboard.catalogue import catalogue
from cachecast.dashboard.folder import Folder
from cachecast.dashboard.opened import Opened
from cachecast.dashboard.questions.what_if import whatifs_of
from cachecast.dashboard.work import Answer
from cachecast.progress import Report
from cachecast.scenarios import scenario_of
from cachecast_sim.optimize.policy import Policy


def _answer(about: Opened, arguments: Arguments, folder: Folder, report: Report) -> Answer:
    from cachecast.optimize_job import optimum_of  # numba takes its time
    from cachecast.optimize_report import optimum_json

    (scenario,) = arguments
    found = optimum_of(about.trace(), scenario_of(scenario, catalogue()), catalogue(), report)
    # whoever takes it over need not wait for a second replay
    whatifs_of(about, scenario).remember(change_of(found.policy), found.replay)
    return optimum_json(found)


def change_of(policy: Policy) -> str:
    """The policy as What-if asks for it."""
    pings = "" if policy.change is None else f",keep-alive={policy.change}"
    return f"mark={policy.mark}{pings}"


OPTIMUM = Question("optimum", "Judging every policy", _answer)
