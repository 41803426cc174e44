"""The process that `ahead` starts: it answers the first page's questions and keeps the answers.

Each line that it prints is a JSON list: the name of a question, and its answer or how far it is
(what is being done, how much, of how much). It says nothing of its failures: whoever needs the
answer asks again in the server, and is refused there.
"""

import contextlib
import gc
import json
import os
import signal
import sys
from importlib.abc import MetaPathFinder

from cachecast.dashboard.ahead import CHECK, OPENING
from cachecast.dashboard.answers import worked_out
from cachecast.dashboard.arguments import Arguments, read
from cachecast.dashboard.folder import Folder
from cachecast.dashboard.opened import check, label_of, open_input, opened
from cachecast.dashboard.questions.bill import BILL
from cachecast.dashboard.questions.run import RUN
from cachecast.dashboard.questions.trend import TREND
from cachecast.dashboard.questions.why import WHY
from cachecast.progress import Report
from cachecast_datasets.errors import BadInput

_OBJECTS_BEFORE_A_COLLECTION = 100_000  # as the command line has it
_POLITE = 19  # after the first numbers: behind the server and the browser


class _WithoutPandas(MetaPathFinder):
    """Pandas is not there: pyarrow would import it, for a fifth of a second, and not need it."""

    def find_spec(self, fullname: str, path: object, target: object = None) -> None:
        if fullname == "pandas":
            raise ModuleNotFoundError("not needed here", name=fullname)


def main() -> None:
    """Answer what the words of the command line ask for."""
    sys.meta_path.insert(0, _WithoutPandas())
    gc.set_threshold(_OBJECTS_BEFORE_A_COLLECTION)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the server's, which ends this one
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(1))  # nothing half-written
    with contextlib.suppress(BadInput):
        _answer(read(sys.argv[1:]))


def _answer(arguments: Arguments) -> None:
    folder, source, scenario = Folder(arguments.folder), arguments.source, arguments.scenario
    assert source is not None
    check(source, scenario)
    _say(CHECK, {})
    found = open_input(source, label_of(source), folder, _saying(OPENING))
    _say(OPENING, found)
    if "log" not in found:
        return
    about = opened(found)
    for question in (BILL, RUN, WHY):
        report = _saying(question.name)
        answer = worked_out(question, about, (scenario,), folder, report)
        if question is RUN:  # what is drawn from it
            worked_out(TREND, about, (answer["path"], scenario), folder, report)
        _say(question.name, answer)
        if hasattr(os, "nice"):
            os.nice(_POLITE)


def _saying(name: str) -> Report:
    return lambda doing, done, total: _say(name, (doing, done, total))


def _say(name: str, news: object) -> None:
    print(json.dumps([name, news]), flush=True)


if __name__ == "__main__":
    main()
