"""The `why` job: replay one scenario over a log, find the cause of each miss, add up."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from cachecast.billing import REPORT_EVERY, matching_rows
from cachecast.progress import Report
from cachecast_datasets.kept_texts import KeptTexts
from cachecast_datasets.request import Request
from cachecast_datasets.trace import Trace
from cachecast_pricing.catalog import Catalog
from cachecast_sim.billing import Billing
from cachecast_sim.ledger import LedgerRow
from cachecast_sim.scenario import Scenario
from cachecast_sim.why.asking import answers, check_evidence
from cachecast_sim.why.causes import Finding
from cachecast_sim.why.observed_stop import observed_stop
from cachecast_sim.why.remedies import Step, next_steps
from cachecast_sim.why.rollup import Rollup

FindingSink = Callable[[LedgerRow, Finding], None]


@dataclass(slots=True)
class Why:
    """The answer for one scenario. `rows` are the requests that missed, where they were kept.

    `absolute`: the log's days are days of the calendar, else they count from its own zero.
    """

    scenario: Scenario
    rollup: Rollup = field(default_factory=Rollup)
    rows: list[tuple[LedgerRow, Finding]] = field(default_factory=list)
    assumptions: list[str] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    with_text: bool = False
    absolute: bool = True


def ask(
    trace: Trace,
    scenario: Scenario,
    catalog: Catalog,
    *,
    texts: KeptTexts | None,
    where: str | None = None,
    keep_rows: bool = False,
    sinks: Sequence[FindingSink] = (),
    report: Report = lambda what, done, total: None,
) -> Why:
    """Why the requests of the log missed. EvidenceError for a log that has counts only.

    Each counted row goes to every sink in the order of `answers`, whether it missed or not.
    """
    billing = Billing(scenario, catalog, trace.meta)
    check_evidence(billing)
    counted = None if where is None else matching_rows(trace, where)
    absolute = trace.meta.time_origin == "absolute"
    why = Why(scenario, with_text=texts is not None, absolute=absolute)
    requests = _reported(trace, billing, report)
    for row, finding in answers(billing, requests, _no_texts if texts is None else texts.of):
        if counted is not None and not counted[row.outcome.ordinal]:
            continue
        why.rollup.add(row, finding)
        for sink in sinks:
            sink(row, finding)
        missed = row.outcome.explanation.reason is not None or observed_stop(row) is not None
        if keep_rows and missed:
            why.rows.append((row, finding))
    why.rows.sort(key=lambda answer: answer[0].outcome.ordinal)
    in_blocks = trace.meta.evidence in ("blocks", "text")
    why.steps = next_steps(why.rollup, in_blocks)
    why.assumptions = _assumptions(why, billing, trace, where)
    return why


def _no_texts(request_id: str) -> None:
    """No text was kept."""
    return


def _reported(trace: Trace, billing: Billing, report: Report) -> Iterator[Request]:
    for done, request in enumerate(trace.requests(columns=billing.columns())):
        if done % REPORT_EVERY == 0:
            report("looking", done, trace.rows)
        yield request
    report("looking", trace.rows, trace.rows)


def _assumptions(why: Why, billing: Billing, trace: Trace, where: str | None) -> list[str]:
    found = billing.assumptions()
    if where is not None:
        found.append(f"only rows where {where} are counted; the cache still saw the whole log")
    if not why.with_text and trace.meta.evidence in ("blocks", "text"):
        found.append(
            "no text beside the log: causes come from hashes of content blocks alone "
            "(cachecast import --keep-text keeps it)"
        )
    return found + why.rollup.totals.remarks()
