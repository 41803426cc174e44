"""What the start of a file shows of its rows: the columns of a CSV, the keys of a JSON row."""

import csv
import json
import re

_KEY = re.compile(r'"([A-Za-z_][A-Za-z0-9_.]*)"\s*:')
# an object under one of these holds the rows, as an array or alone
WRAPPERS = ("data", "spans", "resourceSpans")


def csv_columns(text: bytes) -> tuple[str, ...]:
    """The names in the first line; empty if it does not look like a header of several columns."""
    line = text.split(b"\n", 1)[0].strip()
    try:
        cells = next(csv.reader([line.decode()], strict=True), [])
    except (csv.Error, UnicodeDecodeError):
        return ()
    names = tuple(cell.strip() for cell in cells)
    return names if len(names) > 1 and all(names) else ()


def row_keys(text: bytes) -> frozenset[str]:
    """The keys of the first row inside a JSON array, or inside an object that wraps the rows.

    Of a row that is longer than `text`, the keys that can be seen (inner ones, too).
    """
    head = text.decode(errors="replace")
    if head.startswith("["):
        return _first_object(head[1:])
    for wrapper in WRAPPERS:
        found = re.search(rf'"{wrapper}"\s*:\s*(\[|(?={{))', head)
        if found:
            return _first_object(head[found.end() :]) | {f"{wrapper}:"}
    return frozenset()


def _first_object(text: str) -> frozenset[str]:
    text = text.lstrip()
    if not text.startswith("{"):
        return frozenset()
    try:
        first, _ = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return frozenset(_KEY.findall(text))
    for wrapper in WRAPPERS:
        if isinstance(first.get(wrapper), dict):
            return frozenset(first[wrapper]) | {f"{wrapper}:"}
    return frozenset(first)
