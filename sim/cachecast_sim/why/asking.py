"""`why` over one log: every row with its finding, and their sums."""

from collections.abc import Iterable, Iterator

from cachecast_datasets.errors import EvidenceError
from cachecast_datasets.request import Request
from cachecast_sim.billing import Billing
from cachecast_sim.ledger import LedgerRow
from cachecast_sim.why.causes import Finding
from cachecast_sim.why.conversations import Key, stood_beside
from cachecast_sim.why.investigator import Investigator, TextsOf, as_auxiliary

Answer = tuple[LedgerRow, Finding]


def check_evidence(billing: Billing) -> None:
    """EvidenceError for a log that does not hold its prompts."""
    if billing.counts_only:
        raise EvidenceError(
            "this log has counts only: why needs a log with content blocks or token blocks; "
            "cachecast bill prices the usage that it reports"
        )


def answers(billing: Billing, requests: Iterable[Request], texts_of: TextsOf) -> Iterator[Answer]:
    """Each row with its finding. A row waits until the next request of its session is there.

    Only that one can tell whether a call stood beside the conversation; so rows come in the order
    in which they are decided, at most one a session waits.
    """
    catalog = billing.pricer.catalog
    investigator = Investigator(
        texts_of,
        lambda request: catalog.find(request.model, request.provider),
        absolute=billing.meta.time_origin == "absolute",
        ttl=billing.scenario.settings.ttl,
    )
    waiting: dict[Key, tuple[Request, Answer]] = {}
    for row in billing.rows(requests):
        request = row.request
        key = (request.session_id, request.agent_id)
        finding, before = investigator.finding(row)
        held = waiting.pop(key, None)
        if held is not None:
            earlier, (other, found) = held
            beside = stood_beside(earlier, other.request, request)
            yield other, as_auxiliary(found) if beside else found
        missed = row.outcome.explanation.reason is not None
        if before is not None and missed and request.blocks is not None:
            waiting[key] = (before, (row, finding))
        else:
            yield row, finding
    for _, answer in waiting.values():
        yield answer
