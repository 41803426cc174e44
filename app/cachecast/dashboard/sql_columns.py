"""The result of a query as columns that a table and a chart can show without reading markup."""

import datetime
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

import pyarrow as pa

from cachecast.results.values import text_of

Kind = Literal["number", "time", "text"]
_EXACT_IN_A_BROWSER = 2**53  # its numbers are floats


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its name, what its values are, the values; times and all else are text."""

    name: str
    kind: Kind
    values: pa.Array


def columns(names: list[str], rows: list[tuple[Any, ...]]) -> list[Column]:
    """One for each name, in order. Decimals are floats here: the download holds them exactly."""
    return [_column(name, [row[place] for row in rows]) for place, name in enumerate(names)]


def table(found: list[Column]) -> pa.Table:
    """The columns as one table."""
    return pa.table({column.name: column.values for column in found})


def _column(name: str, values: list[Any]) -> Column:
    known = [value for value in values if value is not None]
    if known and all(isinstance(value, bool) for value in known):
        return Column(name, "text", pa.array(values, pa.bool_()))
    if known and all(isinstance(value, int) for value in known):
        if max(map(abs, known)) <= _EXACT_IN_A_BROWSER:
            return Column(name, "number", pa.array(values, pa.int64()))
    elif known and all(isinstance(value, int | float | Decimal) for value in known):
        floats = [None if value is None else float(value) for value in values]
        return Column(name, "number", pa.array(floats, pa.float64()))
    texts = [None if value is None else text_of(value, null="") for value in values]
    # datetime.datetime is a datetime.date too
    times = bool(known) and all(isinstance(value, datetime.date) for value in known)
    kind: Kind = "time" if times else "text"
    return Column(name, kind, pa.array(texts, pa.string()))
