"""Rows of a log that people export as they like: JSON lines, a JSON array, one object, or CSV."""

import csv
import io
import re
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO, NamedTuple

import msgspec

from cachecast_datasets.errors import LogError, at, at_row
from cachecast_datasets.json_faults import decode
from cachecast_datasets.packed import DAMAGED, damaged, open_bytes, start_of
from cachecast_datasets.source import Source, read_lines, read_whole

_OBJECT: msgspec.json.Decoder[dict[str, Any]] = msgspec.json.Decoder(dict[str, Any])
_ARRAY = msgspec.json.Decoder(list[msgspec.Raw])
_LONGEST_CELL = 1 << 28
_BOM = "\ufeff"
_BAD_BYTE = re.compile("[\udc80-\udcff]")


class Row(NamedTuple):
    """One object of the log; `number` counts lines, or the items of an array or of a wrapper."""

    source: str
    number: int
    counts_lines: bool
    raw: Mapping[str, Any]

    def fault(self, problem: str, reason: str = "bad value") -> LogError:
        """The problem with its place."""
        place = at if self.counts_lines else at_row
        return place(self.source, self.number, problem, reason)


def read_rows(source: Source, *wrappers: str) -> Iterator[Row]:
    """Every row; what cannot be read goes to `source.bad`.

    `wrappers` are keys under which an object holds the rows (an array of them, or one).
    """
    first = _first_bytes(source)
    if first[:1] == b"[":
        yield from _array(source, wrappers)
    elif first.split(b"\n", 1)[0].strip() == b"{":
        found = _whole(source)
        if found is not None:
            yield from _unwrapped(Row(source.label, 1, True, found), wrappers, source)
    elif first[:1] == b"{":
        for number, line in read_lines(source):
            try:
                found = decode(_OBJECT, line, source.label, number)
            except LogError as problem:
                source.bad(problem)
                continue
            yield from _unwrapped(Row(source.label, number, True, found), wrappers, source)
    else:
        yield from _csv(source)


def _first_bytes(source: Source) -> bytes:
    try:
        return start_of(source.path, 1 << 12).removeprefix(b"\xef\xbb\xbf").lstrip()
    except DAMAGED as problem:
        raise damaged(source.label, 0, problem) from problem


def _whole(source: Source) -> dict[str, Any] | None:
    try:
        return decode(_OBJECT, read_whole(source, source.path), source.label, None)
    except LogError as problem:
        source.bad(problem)
        return None


def _array(source: Source, wrappers: tuple[str, ...]) -> Iterator[Row]:
    try:
        items = decode(_ARRAY, read_whole(source, source.path), source.label, None)
    except LogError as problem:
        source.bad(problem)
        return
    for number, item in enumerate(items, start=1):
        try:
            found = _OBJECT.decode(item)
        except (msgspec.DecodeError, RecursionError) as problem:
            text = f"not an object that can be read ({problem}), expected one row"
            source.bad(at_row(source.label, number, text, "not an object"))
            continue
        yield from _unwrapped(Row(source.label, number, False, found), wrappers, source)


def _unwrapped(row: Row, wrappers: tuple[str, ...], source: Source) -> Iterator[Row]:
    """The rows inside a wrapper, or the row itself."""
    inside = next((row.raw[key] for key in wrappers if key in row.raw), row.raw)
    if isinstance(inside, Mapping):
        yield row._replace(raw=inside)
        return
    if not isinstance(inside, list):
        source.bad(row.fault("it holds no rows, expected an array of objects", "no rows"))
        return
    for number, item in enumerate(inside, start=1):
        placed = Row(row.source, number, False, item)
        if isinstance(item, Mapping):
            yield placed
        else:
            source.bad(placed.fault("not an object, expected one row", "not an object"))


def _csv(source: Source) -> Iterator[Row]:
    """Cells by column name; an empty cell is left out, since CSV cannot say null."""
    csv.field_size_limit(_LONGEST_CELL)
    columns: list[str] = []
    with open_bytes(source.path) as stream:
        rows = csv.reader(_text_lines(stream), strict=True)
        while True:
            start = rows.line_num + 1
            try:
                cells = next(rows)
            except StopIteration:
                return
            except csv.Error as problem:
                fault = f"not valid CSV: {problem}, expected quoted cells to end"
                source.bad(at(source.label, start, fault, "not CSV"))
                continue
            except DAMAGED as problem:
                source.bad(damaged(source.label, rows.line_num, problem))
                return
            if not columns:
                columns = [name.removeprefix(_BOM).strip() for name in cells]
            elif cells and (row := _csv_row(source, start, columns, cells)) is not None:
                yield row


def _text_lines(stream: BinaryIO) -> Iterator[str]:
    # bad bytes become lone surrogates, so that the row that holds them can be named
    return iter(io.TextIOWrapper(stream, "utf-8", errors="surrogateescape", newline=""))


def _csv_row(source: Source, line: int, columns: list[str], cells: list[str]) -> Row | None:
    problem, reason = None, "bad row"
    if len(cells) != len(columns):
        problem, reason = f"{len(cells)} cells, expected {len(columns)}", "cut short"
    elif _BAD_BYTE.search("\x00".join(cells)):
        problem, reason = "a byte that is not valid UTF-8, expected UTF-8", "invalid UTF-8"
    if problem is not None:
        source.bad(at(source.label, line, problem, reason))
        return None
    named = zip(columns, cells, strict=True)
    return Row(source.label, line, True, {name: cell for name, cell in named if cell != ""})
