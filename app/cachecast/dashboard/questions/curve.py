"""How much cache buys how much hit ratio: what `cachecast curve LOG --json` prints."""

from dataclasses import replace

from cachecast import curve_job
from cachecast.curve_report import curve_json
from cachecast.dashboard.answers import Arguments, Question
from cachecast.dashboard.folder import Folder
from cachecast.dashboard.opened import Opened
from cachecast.dashboard.work import Answer
from cachecast.progress import Report

_known: dict[str, curve_job.Answer] = {}  # the curves of the log that is open


def _answer(about: Opened, arguments: Arguments, folder: Folder, report: Report) -> Answer:
    """Arguments: bytes of KV cache a token (empty: unknown), then capacities in tokens to mark.

    The marks are what `--capacity` gives; the curves themselves are followed once for each log.
    """
    per_token, *marks = arguments
    if about.key not in _known:
        _known.clear()
        found = curve_job.answer(about.trace(), about.label, curve_job.Question(), report)
        _known[about.key] = found
    question = curve_job.Question(bytes_per_token=int(per_token) if per_token else None)
    curves = replace(_known[about.key], question=question)
    capacities = tuple(max(1, int(mark) // curves.curves.block_tokens) for mark in marks)
    marked = replace(curves, question=replace(question, capacities=capacities))
    return {"curve": curve_json(curves), "marked": curve_json(marked)["capacity"]}


CURVE = Question("curve", "Following the blocks through caches of every size", _answer)
