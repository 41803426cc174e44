"""`cachecast sql`: questions to a run in SQL."""

import csv
import sys
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import click
import duckdb
from rich import box
from rich.table import Table

from cachecast.output import notes, print_json_line
from cachecast.results import connect
from cachecast.results.values import distinct, plain, sentence_of, text_of
from cachecast.results.views import VIEWS
from cachecast.table_console import TableConsole
from cachecast_datasets.errors import BadInput

# What a person can still read; --json, --csv and --limit are for more.
_ROWS_OF_A_TABLE = 100
_CATALOGUE = "SELECT * FROM views"


@click.command("sql", short_help="Ask a run that `bill -o` kept, in SQL.")
@click.argument("run", type=click.Path(path_type=Path))
@click.argument("query", required=False)
@click.option("--json", "as_json", is_flag=True, help="One JSON object a row.")
@click.option("--csv", "as_csv", is_flag=True, help="CSV with a header line.")
@click.option("--limit", type=click.IntRange(min=0), help="Print at most so many rows.")
def command(run: Path, query: str | None, as_json: bool, as_csv: bool, limit: int | None) -> None:
    """Ask a RUN (a folder that `bill -o` wrote) a QUERY in DuckDB's SQL.

    Without a QUERY it lists the tables and views with an example of each; their columns are in
    docs/sql.md and in the table view_columns. Money is exact, NULL is unknown or no price.

    Example:  cachecast sql RUN "select reason, tokens, cost from by_reason order by cost desc"
    """
    if as_json and as_csv:
        raise BadInput("--json and --csv exclude each other; give one")
    connection = connect(run)
    if query is None and not (as_json or as_csv):
        _list_views()
        return
    try:
        result = connection.execute(_CATALOGUE if query is None else query)
        if result is None or result.description is None:
            raise BadInput("SQL: the query is empty; for instance: SELECT * FROM by_scenario")
        names = distinct([column[0] for column in result.description])
        rows = _rows(result, limit)
        if as_json:
            for row in rows:
                print_json_line({n: plain(v) for n, v in zip(names, row, strict=True)})
        elif as_csv:
            writer = csv.writer(sys.stdout, lineterminator="\n")
            writer.writerow(names)
            writer.writerows([text_of(value, null="") for value in row] for row in rows)
        else:
            _print_table(names, rows, _ROWS_OF_A_TABLE if limit is None else limit)
    except duckdb.Error as problem:
        raise BadInput(sentence_of(problem)) from None
    finally:
        connection.close()


def _list_views() -> None:
    for name, view in VIEWS.items():
        click.echo(f"{click.style(name, bold=True)}: {view.meaning}")
        click.echo(f"    {', '.join(view.columns)}")
        click.echo(f"    example: {view.example}\n")
    click.echo(
        "views, view_columns: this documentation; raw_ledger, raw_misses: money in picounits"
    )


def _rows(result: duckdb.DuckDBPyConnection, limit: int | None) -> Iterator[tuple[Any, ...]]:
    """The result's rows, read as they are asked for, at most `limit`."""
    left = limit
    while left is None or left > 0:
        some = result.fetchmany(1000 if left is None else min(left, 1000))
        if not some:
            return
        yield from some
        left = None if left is None else left - len(some)


def _print_table(names: list[str], rows: Iterator[tuple[Any, ...]], most: int) -> None:
    table = Table(header_style="bold", box=box.SIMPLE_HEAD)
    shown: list[tuple[Any, ...]] = []
    for row in rows:
        if len(shown) == most:
            notes.print(
                f"only the first {most} rows are shown; --limit N, --json or --csv for more"
            )
            break
        shown.append(row)
    for place, name in enumerate(names):
        numeric = any(isinstance(row[place], int | float | Decimal) for row in shown)
        table.add_column(name, justify="right" if numeric else "left", overflow="fold")
    for row in shown:
        table.add_row(*(text_of(value, null="NULL") for value in row))
    # piped output keeps every column whole, however many there are
    width = None if sys.stdout.isatty() else 10_000
    console = TableConsole(file=sys.stdout, width=width, highlight=False, markup=False)
    console.print(table)
