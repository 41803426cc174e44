"""Why requests missed: what `cachecast why LOG --as SCENARIO --no-text --json` prints."""

from cachecast.dashboard.answers import Arguments, Question
from cachecast.dashboard.catalogue import catalogue
from cachecast.dashboard.folder import Folder
from cachecast.dashboard.opened import Opened
from cachecast.dashboard.work import Answer
from cachecast.progress import Report
from cachecast.scenarios import scenario_of
from cachecast.why_job import ask
from cachecast.why_report import why_json


def _answer(about: Opened, arguments: Arguments, folder: Folder, report: Report) -> Answer:
    (scenario,) = arguments
    found = scenario_of(scenario, catalogue())
    return why_json(ask(about.trace(), found, catalogue(), texts=None, report=report))


WHY = Question("why", "Looking for the cause of each miss", _answer)
