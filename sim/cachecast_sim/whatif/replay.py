"""A log replayed under a scenario with changes: totals, and what each session paid."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from cachecast_datasets.log_meta import LogMeta
from cachecast_datasets.request import Request
from cachecast_datasets.turn_columns import TurnColumns
from cachecast_pricing.catalog import Catalog
from cachecast_sim.billing import Billing
from cachecast_sim.ledger import LedgerRow
from cachecast_sim.prompt_size import prompt_size
from cachecast_sim.scenario import Scenario
from cachecast_sim.sessions import SessionKey
from cachecast_sim.totals import Totals
from cachecast_sim.whatif.change import Change, ChangedLog, check_evidence

Batches = Iterable[TurnColumns | list[Request]]


@dataclass(slots=True)
class Replay:
    """What became of the log. Money in picounits.

    `hit_tokens` and `prefill_tokens` are those of the log's own requests, without `extra` ones,
    whose charge is in the totals all the same. `sessions` are charges by session.
    """

    scenario: Scenario
    totals: Totals = field(default_factory=Totals)
    sessions: dict[SessionKey, int] = field(default_factory=dict)
    hit_tokens: int = 0
    prefill_tokens: int = 0
    extra_requests: int = 0
    extra_charge: int = 0
    served_requests: int = 0
    served_tokens: int = 0
    served_output_tokens: int = 0
    assumptions: list[str] = field(default_factory=list)


def replay(
    scenario: Scenario,
    changes: Sequence[Change],
    log: ChangedLog,
    catalog: Catalog,
    meta: LogMeta,
    session_of: Mapping[str, SessionKey],
) -> Replay:
    """The log with the changes applied in order, replayed. `session_of` has every id of the log.

    EvidenceError if the log does not tell what a change needs.
    """
    for change in changes:
        check_evidence(change, meta.evidence)
        scenario = change.scenario(scenario)
        log = change.log(log)
    billing = Billing(scenario, catalog, meta)
    found = Replay(scenario)
    for row in billing.rows(log.requests):
        _count(found, row, log.extra, session_of)
    for served in log.served:
        found.sessions.setdefault(session_of[served.request.request_id], 0)
        found.served_requests += 1
        found.served_tokens += prompt_size(served.request) or 0
        found.served_output_tokens += served.request.output_tokens or 0
    found.assumptions = _assumptions(billing, found, changes)
    return found


def replay_turns(
    scenario: Scenario,
    changes: Sequence[Change],
    batches: Batches,
    catalog: Catalog,
    meta: LogMeta,
) -> Replay | None:
    """What `replay` gives, by the columnar path; None where log, scenario or changes have none.

    Then nothing is taken from `batches`.
    """
    if not all(change.keeps_turns for change in changes):
        return None
    for change in changes:
        scenario = change.scenario(scenario)
    billing = Billing(scenario, catalog, meta)
    turns = billing.turns()
    if turns is None:
        return None
    found = Replay(scenario, totals=turns.totals)
    turns.sessions = found.sessions
    turns.feed(_changed(batches, changes))
    usage = found.totals.usage
    found.hit_tokens = usage.cache_read
    found.prefill_tokens = usage.prompt_tokens - usage.cache_read
    found.assumptions = _assumptions(billing, found, changes)
    return found


def _changed(batches: Batches, changes: Sequence[Change]) -> Iterator[TurnColumns | list[Request]]:
    """Whole requests with the changes; usual turns keep what they are."""
    for batch in batches:
        if isinstance(batch, list):
            log = ChangedLog(batch)
            for change in changes:
                log = change.log(log)
            batch = list(log.requests)
        yield batch


def _assumptions(billing: Billing, found: Replay, changes: Sequence[Change]) -> list[str]:
    own = [sentence for change in changes for sentence in change.assumptions()]
    return [*billing.assumptions(), *found.totals.remarks(), *own]


def _count(
    found: Replay, row: LedgerRow, extra: Mapping[str, str], session_of: Mapping[str, SessionKey]
) -> None:
    found.totals.add(row)
    name, paid = row.request.request_id, 0 if row.charge is None else row.charge.total
    cause = extra.get(name)
    if cause is None:
        usage = row.usage
        found.hit_tokens += usage.cache_read
        found.prefill_tokens += usage.prompt_tokens - usage.cache_read
    else:
        found.extra_requests += 1
        found.extra_charge += paid
    session = session_of[name if cause is None else cause]
    found.sessions[session] = found.sessions.get(session, 0) + paid
