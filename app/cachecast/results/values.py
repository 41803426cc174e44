"""How the values, the column names and the errors of a query are written."""

import datetime
import json
from decimal import Decimal
from typing import Any

import duckdb

from cachecast.results.views import VIEWS


def text_of(value: Any, null: str) -> str:
    """The value in a table or in CSV; `null` for None."""
    if value is None:
        return null
    found = plain(value)
    return found if isinstance(found, str) else json.dumps(found, ensure_ascii=False)


def plain(value: Any) -> Any:
    """The value as JSON has it: decimals are strings without idle zeros, times RFC 3339."""
    match value:
        case Decimal():
            text = format(value, "f")
            return text.rstrip("0").rstrip(".") if "." in text else text
        case float() if value != value or value in (float("inf"), float("-inf")):
            return str(value)
        case int() if not -(2**63) <= value < 2**64:
            return str(value)
        case None | bool() | int() | float() | str():
            return value
        case datetime.datetime():
            return value.isoformat().replace("+00:00", "Z")
        case list() | tuple():
            return [plain(item) for item in value]
        case dict():
            return {str(key): plain(item) for key, item in value.items()}
        case _:
            return str(value)


def distinct(names: list[str]) -> list[str]:
    """The names, a repeated one with a number behind, so that no column of a row is lost."""
    seen: dict[str, int] = {}
    result = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        result.append(name if seen[name] == 1 else f"{name}_{seen[name]}")
    return result


def sentence_of(problem: duckdb.Error) -> str:
    """DuckDB's message on one line, without the quoted query and its caret."""
    message = str(problem).split("\n\nLINE ")[0]
    if "Table with name" in message:
        # DuckDB's own guess may be one of its internal tables
        message = message.split("\n")[0] + f" There are: {', '.join(VIEWS)}."
    return "SQL: " + " ".join(message.split())
