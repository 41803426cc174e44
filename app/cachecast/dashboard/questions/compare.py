"""Predicted against measured: what `cachecast compare PREDICTED MEASURED --json` prints."""

from pathlib import Path

from cachecast.compare_chart import panels
from cachecast.compare_report import comparison_json
from cachecast.comparing import compare, read_run
from cachecast.dashboard.answers import Arguments, Question
from cachecast.dashboard.folder import Folder
from cachecast.dashboard.opened import Opened
from cachecast.dashboard.work import Answer
from cachecast.progress import Report


def _answer(about: Opened, arguments: Arguments, folder: Folder, report: Report) -> Answer:
    """Arguments: the two or three folders, and what tells whether they have changed."""
    predicted, measured, again, *_ = arguments
    one, other = read_run(Path(predicted)), read_run(Path(measured))
    found = compare(one, other, read_run(Path(again)) if again else None)
    return {
        "comparison": comparison_json(found),
        "panels": panels(found),
        "predicted": one.info,
        "measured": other.info,
    }


COMPARE = Question("compare", "Comparing the runs", _answer)
