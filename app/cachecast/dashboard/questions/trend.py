"""What a scenario of a run paid and read by the hour or day: a question in SQL, asked once."""

from pathlib import Path

from cachecast.dashboard.answers import Arguments, Question
from cachecast.dashboard.folder import Folder
from cachecast.dashboard.opened import Opened
from cachecast.dashboard.work import Answer
from cachecast.progress import Report


def _answer(about: Opened, arguments: Arguments, folder: Folder, report: Report) -> Answer:
    from cachecast.dashboard.run_rows import trend  # DuckDB

    run, scenario = arguments
    unit, charges, hits = trend(Path(run), scenario)
    return {"unit": unit, "charges": charges, "hits": hits}


TREND = Question("trend", "Adding up by time", _answer)
