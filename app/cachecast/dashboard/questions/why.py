"""Why requests missed: what `cachecast why LOG --as SCENARIO --no-text --json` prints.

On the way each request's ribbon is written to the Parquet file that `path` names, so that drilling
down replays nothing.
"""

import hashlib
import os
from pathlib import Path
from tempfile import NamedTemporaryFile

from cachecast.dashboard.answers import Arguments, Question
from cachecast.dashboard.catalogue import catalogue
from cachecast.dashboard.folder import Folder
from cachecast.dashboard.opened import Opened
from cachecast.dashboard.work import Answer
from cachecast.progress import Report


def _answer(about: Opened, arguments: Arguments, folder: Folder, report: Report) -> Answer:
    from cachecast.dashboard.ribbon_file import RibbonFile  # as in `bill`
    from cachecast.scenarios import scenario_of
    from cachecast.why_job import ask
    from cachecast.why_report import why_json

    (scenario,) = arguments
    found = scenario_of(scenario, catalogue())
    digest = hashlib.sha256(scenario.encode()).hexdigest()[:12]
    path = folder.part("runs") / f"{about.key}-{digest}-ribbons.parquet"
    with NamedTemporaryFile(dir=path.parent, suffix=".part", delete=False) as part:
        unfinished = Path(part.name)
    try:
        with RibbonFile(unfinished) as ribbons:
            why = ask(about.trace(), found, catalogue(), texts=None, sinks=[ribbons], report=report)
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)
    folder.prune_runs()
    return why_json(why) | {"path": str(path)}


WHY = Question("why", "Looking for the cause of each miss", _answer)
