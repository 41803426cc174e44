"""The characters at which prompts part, for somebody who asked to see text.

As `cachecast why LOG` does: the log is read anew with its text, which lies in a temporary file
until this answer is there. The answer stays in memory.
"""

import contextlib
import tempfile
from pathlib import Path

from cachecast.dashboard.answers import Arguments, Question
from cachecast.dashboard.catalogue import catalogue
from cachecast.dashboard.folder import Folder
from cachecast.dashboard.opened import Opened
from cachecast.dashboard.passages import passages_of
from cachecast.dashboard.work import Answer
from cachecast.progress import Report
from cachecast.scenarios import scenario_of
from cachecast.why_job import ask
from cachecast_datasets.importing import open_or_import
from cachecast_datasets.kept_texts import kept_texts
from cachecast_datasets.processes import reading_processes
from cachecast_sim.ledger import LedgerRow
from cachecast_sim.why.causes import Finding


def _answer(about: Opened, arguments: Arguments, folder: Folder, report: Report) -> Answer:
    """`requests`: for each that missed what differs, in passages; None where no text is kept."""
    (scenario,) = arguments
    found = scenario_of(scenario, catalogue())
    told: dict[str, Answer] = {}
    with contextlib.ExitStack() as stack:
        tmp = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="cachecast-")))
        trace = open_or_import(
            [about.source], tmp_dir=tmp, progress=report, processes=reading_processes(),
            keep_text=True,
        )  # fmt: skip
        texts = kept_texts(trace.path)
        if texts is None:
            return {"requests": None}
        stack.enter_context(texts)

        def keep(row: LedgerRow, finding: Finding) -> None:
            if row.outcome.explanation.reason is not None:
                told[row.request.request_id] = passages_of(row, finding, texts.of)

        ask(trace, found, catalogue(), texts=texts, sinks=[keep], report=report)
    return {"requests": told}


TEXTS = Question("texts", "Reading the log with its text", _answer, kept=False)
