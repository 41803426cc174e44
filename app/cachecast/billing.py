"""The `bill` job: open the log, run each scenario over it, gather totals, write the run."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from cachecast.cycle_collector import without_cycle_collector
from cachecast.progress import Report
from cachecast_datasets.accounts import stored_account
from cachecast_datasets.errors import BadInput
from cachecast_datasets.request import Request
from cachecast_datasets.trace import Trace
from cachecast_datasets.turn_columns import TurnColumns, turn_columns
from cachecast_pricing.catalog import Catalog
from cachecast_sim.billing import Billing
from cachecast_sim.grouping import COLUMNS, Key
from cachecast_sim.ledger import LedgerRow
from cachecast_sim.scenario import Scenario
from cachecast_sim.totals import Totals

if TYPE_CHECKING:
    import duckdb

REPORT_EVERY = 2_048  # requests between two progress reports

RowSink = Callable[[str, LedgerRow], None]  # (scenario name, row)


@dataclass(slots=True)
class Bill:
    """The result of one scenario: its totals, the same by group, and what it assumes."""

    scenario: Scenario
    totals: Totals = field(default_factory=Totals)
    groups: dict[tuple[str | bool | None, ...], Totals] = field(default_factory=dict)
    assumptions: list[str] = field(default_factory=list)


def bills_of(
    trace: Trace,
    scenarios: Sequence[Scenario],
    catalog: Catalog,
    *,
    by: Sequence[tuple[str, Key]] = (),
    where: str | None = None,
    counted: npt.NDArray[np.bool_] | None = None,
    sinks: Sequence[RowSink] = (),
    report: Report = lambda what, done, total: None,
) -> list[Bill]:
    """One bill per scenario. Each row of the log is handed to every sink as soon as it is known.

    `where` limits what is counted, not what the cache sees; `counted` are its `matching_rows`,
    asked for once, since a condition may draw random numbers. Raises BadInput before the first
    request for anything that a person named and that does not exist.
    """
    with without_cycle_collector():
        return _bills_of(trace, scenarios, catalog, by, where, counted, sinks, report)


def _bills_of(
    trace: Trace,
    scenarios: Sequence[Scenario],
    catalog: Catalog,
    by: Sequence[tuple[str, Key]],
    where: str | None,
    counted: npt.NDArray[np.bool_] | None,
    sinks: Sequence[RowSink],
    report: Report,
) -> list[Bill]:
    billings = [Billing(scenario, catalog, trace.meta) for scenario in scenarios]
    bills = []
    for number, billing in enumerate(billings):
        name = billing.scenario.name
        bill = Bill(billing.scenario)
        # only totals are asked for: the columnar path, where there is one
        totals_only = not (by or sinks or where is not None) and trace.ours
        turns = billing.turns() if totals_only else None
        if turns is not None:
            turns.feed(_batches(trace, name, number, billings, report))
            bill.totals = turns.totals
            bill.assumptions = _assumptions(bill, billing, where, trace)
            bills.append(bill)
            continue
        columns = (*billing.columns(), *(column for column, _ in by if column in COLUMNS))
        requests = _reported(
            trace.requests(columns=columns), name, number, billings, trace.rows, report
        )
        for ordinal, row in enumerate(billing.rows(requests)):
            if counted is not None and not counted[ordinal]:
                continue
            bill.totals.add(row)
            if by:
                _group(bill, row, by).add(row)
            for sink in sinks:
                sink(name, row)
        bill.assumptions = _assumptions(bill, billing, where, trace)
        bills.append(bill)
    return bills


def _group(bill: Bill, row: LedgerRow, by: Sequence[tuple[str, Key]]) -> Totals:
    key = tuple(value(row) for _, value in by)
    group = bill.groups.get(key)
    if group is None:
        group = bill.groups[key] = Totals()
    return group


def _reported(
    requests: Iterator[Request],
    name: str,
    number: int,
    billings: Sequence[Billing],
    rows: int,
    report: Report,
) -> Iterator[Request]:
    """The requests, with a progress report now and then."""
    before, total = number * rows, len(billings) * rows
    for done, request in enumerate(requests):
        if done % REPORT_EVERY == 0:
            report(name, before + done, total)
        yield request
    report(name, before + rows, total)


def _batches(
    trace: Trace, name: str, number: int, billings: Sequence[Billing], report: Report
) -> Iterator[TurnColumns | list[Request]]:
    """The columns of the columnar path, with a progress report after each batch."""
    done, total = number * trace.rows, len(billings) * trace.rows
    for batch in trace.batches(billings[number].turn_columns(trace.models)):
        yield turn_columns(batch)
        done += batch.num_rows
        report(name, done, total)


def _assumptions(bill: Bill, billing: Billing, where: str | None, trace: Trace) -> list[str]:
    found = billing.assumptions()
    skipped = sum(skip.count for skip in trace.imported.skipped) if trace.imported else 0
    if skipped:
        found.append(f"{skipped:,} bad rows or files of the log were skipped")
    if where is not None:
        found.append(f"only rows where {where} are counted; the cache still saw the whole log")
    return found + bill.totals.remarks()


def matching_rows(trace: Trace, where: str) -> npt.NDArray[np.bool_]:
    """One truth value per row of the log: whether it matches the SQL condition.

    The condition is a single expression over the log's columns, and can reach nothing else.
    """
    import duckdb  # for conditions alone

    if not where.strip():
        raise BadInput("--where is empty; for instance: --where \"model = 'claude-opus-5'\"")
    try:
        with duckdb.connect(config={"python_enable_replacements": False}) as connection:
            log = _log(connection, trace)
            connection.execute("SET enable_external_access = false")
            keep = duckdb.SQLExpression(where).cast(duckdb.sqltype("BOOLEAN")).alias("keep")
            table = log.select(keep).to_arrow_table()
    except duckdb.Error as problem:
        first_line = str(problem).strip().splitlines()[0]
        raise BadInput(f"--where {where}: {first_line}") from None
    mask = np.asarray(table.column(0).fill_null(False).to_numpy(), dtype=np.bool_)
    if len(mask) != trace.rows:
        raise BadInput(
            f"--where {where}: gives {len(mask)} values for the {trace.rows} requests, expected "
            "one each (no count or other aggregate)"
        )
    if not mask.any():
        hint = "; accounts are hashed at import" if "account" in where else ""
        raise BadInput(f"--where {where}: no request of the log matches{hint}")
    return mask


def _log(connection: "duckdb.DuckDBPyConnection", trace: Trace) -> "duckdb.DuckDBPyRelation":
    """The columns of the log, with keys for accounts as a run has them."""
    import duckdb
    import pyarrow.dataset as ds  # it brings pandas, a fifth of a second of every other bill

    log = connection.register("log", ds.dataset(trace.path, format="parquet")).table("log")
    if "account" not in log.columns:
        return log

    def key(account: str) -> str:
        return stored_account(account, trace.ours)

    connection.create_function("account_key", key, [duckdb.sqltype("VARCHAR")], "VARCHAR")
    return log.project("* REPLACE (account_key(account::VARCHAR) AS account)")
