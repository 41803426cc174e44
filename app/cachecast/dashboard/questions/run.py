"""The run of one scenario, for SQL and trends: what `cachecast bill -o RUN` writes."""

import hashlib

from cachecast.dashboard.answers import Arguments, Question
from cachecast.dashboard.catalogue import catalogue
from cachecast.dashboard.folder import Folder
from cachecast.dashboard.opened import Opened
from cachecast.dashboard.work import Answer
from cachecast.progress import Report


def _answer(about: Opened, arguments: Arguments, folder: Folder, report: Report) -> Answer:
    if about.run is not None:
        return {"path": str(about.run)}
    from cachecast.billing import bills_of  # as in `bill`: not for the server's first page
    from cachecast.billing_report import bill_json
    from cachecast.ledger_writer import LedgerSink, write_requests
    from cachecast.results import RunWriter
    from cachecast.results.writer import hash_inputs
    from cachecast.scenarios import scenario_of

    (scenario,) = arguments
    found = scenario_of(scenario, catalogue())
    trace = about.trace()
    digest = hashlib.sha256(scenario.encode()).hexdigest()[:12]
    path = folder.part("runs") / f"{about.key}-{digest}"
    with RunWriter(path, force=True) as run:
        ledger = LedgerSink(run)
        bills = bills_of(trace, [found], catalogue(), sinks=[ledger], report=report)
        ledger.flush()
        write_requests(run, trace)
        run.finish(
            {
                "command": "bill",
                "input_hash": hash_inputs([about.source]),
                "scenarios": [bill_json(bill, []) for bill in bills],
                "assumptions": bills[0].assumptions,
            }
        )
    folder.prune_runs()
    return {"path": str(path)}


RUN = Question("run", "Writing the run", _answer)
