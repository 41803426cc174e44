"""The best markers and pings: what `cachecast optimize LOG --as SCENARIO --json` prints."""

from cachecast.dashboard.answers import Arguments, Question
from cachecast.dashboard.catalogue import catalogue
from cachecast.dashboard.folder import Folder
from cachecast.dashboard.opened import Opened
from cachecast.dashboard.work import Answer
from cachecast.progress import Report
from cachecast.scenarios import scenario_of


def _answer(about: Opened, arguments: Arguments, folder: Folder, report: Report) -> Answer:
    from cachecast.optimize_job import optimum_of  # numba takes its time
    from cachecast.optimize_report import optimum_json

    (scenario,) = arguments
    found = scenario_of(scenario, catalogue())
    return optimum_json(optimum_of(about.trace(), found, catalogue(), report))


OPTIMUM = Question("optimum", "Judging every policy", _answer)
