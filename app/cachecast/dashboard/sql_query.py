"""One query of a person's own to a run: limited in time, memory and rows, and cancelled at will."""

import csv
import io
import threading
import time
from pathlib import Path
from typing import Any

import duckdb

from cachecast.dashboard.work import Answer
from cachecast.progress import Report
from cachecast.results import connect
from cachecast.results.values import distinct, sentence_of, text_of
from cachecast_datasets.errors import BadInput

LIMIT_S = 20
MEMORY_MIB = 512
SHOWN_ROWS = 1_000
KEPT_ROWS = 50_000  # of a result for download; the command line prints all
_LOOK_EVERY_S = 0.05
_EMPTY = "SQL: the query is empty; for instance: SELECT * FROM by_scenario"


def ask(run: Path, query: str, report: Report, limit_s: float = LIMIT_S) -> Answer:
    """`names`, the first `rows`, the `count` of rows read, whether there are `more`, all as `csv`.

    BadInput with DuckDB's message on one line, or after `limit_s`.
    """
    connection = connect(run, memory_mib=MEMORY_MIB)
    asking = _Asking(connection, query)
    started = time.monotonic()
    try:
        asking.start()
        while asking.is_alive():
            asking.join(_LOOK_EVERY_S)
            spent = time.monotonic() - started
            report("asking", round(1000 * min(spent, limit_s)), round(1000 * limit_s))
            if spent > limit_s and asking.is_alive():
                raise BadInput(f"SQL: no answer within {limit_s:g} s; the query was stopped")
    finally:  # after a cancel too
        while asking.is_alive():
            connection.interrupt()
            asking.join(_LOOK_EVERY_S)
        connection.close()
    if asking.problem is not None:
        raise asking.problem
    return _answer(asking.names, asking.rows)


class _Asking(threading.Thread):
    """DuckDB at work, in a thread that another one can interrupt."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, query: str) -> None:
        super().__init__(daemon=True, name="sql")
        self._connection, self._query = connection, query
        self.names: list[str] = []
        self.rows: list[tuple[Any, ...]] = []
        self.problem: BadInput | None = None

    def run(self) -> None:
        try:
            result = self._connection.execute(self._query)
            if result is None or result.description is None:
                self.problem = BadInput(_EMPTY)
                return
            self.names = distinct([column[0] for column in result.description])
            self.rows = result.fetchmany(KEPT_ROWS + 1)
        except duckdb.Error as problem:
            self.problem = BadInput(sentence_of(problem))


def _answer(names: list[str], rows: list[tuple[Any, ...]]) -> Answer:
    kept = rows[:KEPT_ROWS]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([text_of(value, null="") for value in row] for row in kept)
    return {
        "names": names,
        "rows": kept[:SHOWN_ROWS],
        "count": len(kept),
        "more": len(rows) > KEPT_ROWS,
        "csv": text.getvalue(),
    }
