"""The bill of one scenario: what `cachecast bill LOG --as SCENARIO --json` prints."""

from cachecast.dashboard.answers import Arguments, Question
from cachecast.dashboard.catalogue import catalogue
from cachecast.dashboard.folder import Folder
from cachecast.dashboard.opened import Opened
from cachecast.dashboard.work import Answer
from cachecast.progress import Report


def _answer(about: Opened, arguments: Arguments, folder: Folder, report: Report) -> Answer:
    # imported only where it is worked out: the server's first page takes it from the folder
    from cachecast.billing import bills_of
    from cachecast.billing_report import bill_json
    from cachecast.scenarios import scenario_of

    (scenario,) = arguments
    found = scenario_of(scenario, catalogue())
    (bill,) = bills_of(about.trace(), [found], catalogue(), report=report)
    return bill_json(bill, [])


BILL = Question("bill", "Working out the bill", _answer)
