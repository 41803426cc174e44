"""What every batch of a request log must satisfy, whoever wrote it. All checks are vectorised."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cachecast_datasets.errors import LogError, at_row
from cachecast_datasets.request import MARKERS, SECTIONS, STATUSES

_SECONDS = ("arrival_uncertainty_s", "first_token_s", "end_s", "think_time_s")
_COUNTS = ("prompt_tokens", "output_tokens", "tools_tokens", "system_tokens", "attempt")
_WHOLE_NUMBERS = {"blocks": ("message", "tokens", "hash"), "boundaries": ("tokens", "hash")}
_Mask = npt.NDArray[np.bool_]
_Fault = tuple[_Mask, str, str | Callable[[int], str]]  # (which rows, column, what is expected)
Bad = Callable[[LogError], None]


def refuse(problem: LogError) -> None:
    """What to do with a bad row unless somebody asked to skip: stop."""
    raise problem


class RowChecker:
    """Checks the batches of one file in a row; knows row numbers and the last arrival."""

    def __init__(self, source: str, bad: Bad = refuse) -> None:
        """`bad` gets a LogError for each bad row; where it returns, the row is left out."""
        self._source = source
        self._bad = bad
        self._row = 1
        self._last_us = np.iinfo(np.int64).min

    def sound(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """`batch` without its bad rows: broken values first, then rows before an earlier one."""
        first, self._row = self._row, self._row + batch.num_rows
        numbers = np.arange(first, self._row)
        columns = dict(zip(batch.schema.names, batch.columns, strict=True))
        wrong = np.zeros(batch.num_rows, dtype=bool)
        for mask, column, expected in _faults(columns):
            for row in np.flatnonzero(mask & ~wrong).tolist():
                value = columns[column.split(".")[0]][row].as_py()
                accepted = expected if isinstance(expected, str) else expected(row)
                text = f"{column} is {shown(value)}, expected {accepted}"
                self._bad(at_row(self._source, first + row, text, f"bad {column}"))
            wrong |= mask
        if wrong.any():
            batch, numbers = batch.filter(pa.array(~wrong)), numbers[~wrong]
        return self._in_order(batch, numbers)

    def _in_order(self, batch: pa.RecordBatch, numbers: npt.NDArray[np.int64]) -> pa.RecordBatch:
        if not batch.num_rows:
            return batch
        times = batch.column("arrival").view(pa.int64()).to_numpy()
        latest = np.maximum.accumulate(np.concatenate(([self._last_us], times)))[:-1]
        self._last_us = max(int(latest[-1]), int(times[-1]))
        wrong = times < latest
        for row in np.flatnonzero(wrong).tolist():
            text = (
                f"arrival is {_time(times[row])}, before an earlier row's ({_time(latest[row])}), "
                "expected rows sorted by arrival"
            )
            self._bad(at_row(self._source, int(numbers[row]), text, "out of order"))
        return batch.filter(pa.array(~wrong)) if wrong.any() else batch


def shown(value: Any) -> str:
    """A value as messages print it: JSON, cut after 60 characters."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else text[:59] + "…"


def _time(us: np.int64) -> str:
    return str(np.datetime64(int(us), "us")) + "Z"


def _faults(columns: dict[str, pa.Array]) -> Iterator[_Fault]:
    for name in ("request_id", "arrival"):
        yield _nulls(columns[name]), name, "a value"
    for name in _SECONDS:
        if (array := columns.get(name)) is not None and array.null_count < len(array):
            values = array.to_numpy(zero_copy_only=False)  # a null becomes NaN
            wrong = ~_nulls(array) & ~((values >= 0) & np.isfinite(values))
            yield wrong, name, "a finite number >= 0"
    for name in _COUNTS:
        if name in columns:
            yield _below(columns[name], 0), name, ">= 0"
    if "token_block_size" in columns:
        yield _below(columns["token_block_size"], 1), "token_block_size", ">= 1"
    if "status" in columns:
        yield _not_among(columns["status"], STATUSES), "status", "one of " + ", ".join(STATUSES)
    if "observed" in columns and columns["observed"].null_count < len(columns["observed"]):
        yield from _observed_faults(columns["observed"])
    yield from _list_faults(columns)


def _observed_faults(array: pa.StructArray) -> Iterator[_Fault]:
    for field in array.type:
        if pa.types.is_integer(field.type):
            yield _below(array.field(field.name), 0), f"observed.{field.name}", ">= 0"


def _list_faults(columns: dict[str, pa.Array]) -> Iterator[_Fault]:
    for name in ("token_blocks", "token_ids", "output_token_ids"):
        if name in columns and columns[name].values.null_count:
            yield _rows(columns[name], _nulls(columns[name].values)), name, "no nulls inside"
    if "token_blocks" in columns:
        yield from _block_count(columns)
    if "blocks" in columns and len(columns["blocks"].values):
        array = columns["blocks"]
        sections, markers, kind = (
            array.values.field(name) for name in ("section", "marker", "kind")
        )
        known = "one of " + ", ".join(SECTIONS)
        yield (
            _rows(array, _nulls(sections) | _not_among(sections, SECTIONS)),
            "blocks.section",
            known,
        )
        known = "null or one of " + ", ".join(MARKERS)
        yield _rows(array, _not_among(markers, MARKERS)), "blocks.marker", known
        yield _rows(array, _nulls(kind)), "blocks.kind", "a value"
    for name, numbers in _WHOLE_NUMBERS.items():
        lists = columns.get(name)
        if lists is None or not len(lists.values):
            continue
        for number in numbers:
            inner = lists.values.field(number)
            wrong = _rows(lists, _nulls(inner) | _below(inner, 0))
            yield wrong, f"{name}.{number}", ">= 0, never null"


def _block_count(columns: dict[str, pa.Array]) -> Iterator[_Fault]:
    if "prompt_tokens" not in columns or "token_block_size" not in columns:
        return
    array, size, tokens = (
        columns[name] for name in ("token_blocks", "token_block_size", "prompt_tokens")
    )
    unknown = _nulls(array) | _nulls(size) | _nulls(tokens)
    offsets = array.offsets.to_numpy()
    counts = offsets[1:] - offsets[:-1]
    per_block = np.where(unknown, 1, without_nulls(size).to_numpy())
    prompt = np.where(unknown, 0, without_nulls(tokens).to_numpy())
    unknown |= (per_block < 1) | (prompt < 0)  # said by their own checks
    per_block = np.maximum(per_block, 1)
    floor, ceiling = prompt // per_block, -(-prompt // per_block)

    def expected(row: int) -> str:
        return (
            f"{floor[row]} or {ceiling[row]} blocks for {prompt[row]} prompt_tokens in blocks "
            f"of {per_block[row]} (it has {counts[row]})"
        )

    yield ~unknown & (counts != floor) & (counts != ceiling), "token_blocks", expected


def without_nulls(array: pa.Array) -> pa.Array:
    """A flat numeric column with whatever its null places hold, without copying it."""
    if array.null_count == 0:
        return array
    return pa.Array.from_buffers(
        array.type, len(array), [None, array.buffers()[1]], offset=array.offset
    )


def _nulls(array: pa.Array) -> _Mask:
    if array.null_count == 0:
        return np.zeros(len(array), dtype=bool)
    mask: _Mask = array.is_null().to_numpy(zero_copy_only=False)
    return mask


def _below(array: pa.Array, least: int) -> _Mask:
    if array.null_count == len(array):
        return np.zeros(len(array), dtype=bool)
    mask: _Mask = without_nulls(array).to_numpy(zero_copy_only=False) < least
    return mask & ~_nulls(array)


def _not_among(array: pa.Array, known: tuple[str, ...]) -> _Mask:
    if array.null_count == len(array):
        return np.zeros(len(array), dtype=bool)
    encoded = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
    words = encoded.dictionary.to_pylist()
    strange = np.array([word not in known for word in words], dtype=bool)
    codes = without_nulls(encoded.indices).to_numpy()
    return strange[codes] & ~_nulls(array) if strange.any() else np.zeros(len(array), dtype=bool)


def _rows(array: pa.ListArray, inside: _Mask) -> _Mask:
    """Which rows hold one of the list elements that `inside` marks."""
    mask = np.zeros(len(array), dtype=bool)
    offsets = array.offsets.to_numpy()
    hits = np.flatnonzero(inside)
    hits = hits[(hits >= offsets[0]) & (hits < offsets[-1])]
    mask[np.searchsorted(offsets, hits, side="right") - 1] = True
    return mask
