"""What every batch of a request log must satisfy, whoever wrote it. All checks are vectorised."""

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from cachecast_datasets.errors import at_row
from cachecast_datasets.request import MARKERS, SECTIONS, STATUSES

_SECONDS = ("arrival_uncertainty_s", "first_token_s", "end_s", "think_time_s")
_COUNTS = ("prompt_tokens", "output_tokens", "tools_tokens", "system_tokens", "attempt")
_WHOLE_NUMBERS = {"blocks": ("message", "tokens", "hash"), "boundaries": ("tokens", "hash")}
_Mask = npt.NDArray[np.bool_]
_Fault = tuple[_Mask, str, str]  # (which rows, column, what is expected)


def check_batch(batch: pa.RecordBatch, source: str, first_row: int) -> None:
    """Raise LogError for the first row of `batch` that breaks the schema's rules.

    `first_row` is the number of the batch's first row, counted from 1.
    """
    columns = dict(zip(batch.schema.names, batch.columns, strict=True))
    for mask, column, expected in _faults(columns):
        if mask.any():
            row = int(mask.argmax())
            value = columns[column.split(".")[0]][row].as_py()
            raise at_row(
                source,
                first_row + row,
                f"{column} is {shown(value)}, expected {expected}",
                f"bad {column}",
            )


def shown(value: Any) -> str:
    """A value as messages print it: JSON, cut after 60 characters."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else text[:59] + "…"


def check_order(arrivals: pa.Array, source: str, first_row: int, last_us: int | None) -> int:
    """The last arrival of the batch; LogError if a row is earlier than the row before it."""
    times = arrivals.view(pa.int64()).to_numpy()
    before = np.concatenate(([times[0] if last_us is None else last_us], times[:-1]))
    wrong = times < before
    if wrong.any():
        row = int(wrong.argmax())
        problem = (
            f"arrival is {_time(times[row])}, before the row above it ({_time(before[row])}), "
            "expected rows sorted by arrival"
        )
        raise at_row(source, first_row + row, problem, "out of order")
    return int(times[-1])


def _time(us: np.int64) -> str:
    return str(np.datetime64(int(us), "us")) + "Z"


def _faults(columns: dict[str, pa.Array]) -> Iterator[_Fault]:
    for name in ("request_id", "arrival"):
        yield _nulls(columns[name]), name, "a value"
    for name in _SECONDS:
        if (array := columns.get(name)) is not None and array.null_count < len(array):
            values = array.fill_null(0.0).to_numpy()
            yield ~((values >= 0) & np.isfinite(values)), name, "a finite number >= 0"
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
    counts = pc.list_value_length(array).fill_null(0).to_numpy()
    per_block = np.maximum(size.fill_null(1).to_numpy(), 1)
    prompt = tokens.fill_null(0).to_numpy()
    floor, ceiling = prompt // per_block, -(-prompt // per_block)
    wrong = ~unknown & (counts != floor) & (counts != ceiling)
    expected = ""
    if wrong.any():
        row = int(wrong.argmax())
        expected = (
            f"{floor[row]} or {ceiling[row]} blocks for {prompt[row]} prompt_tokens in blocks "
            f"of {per_block[row]} (it has {counts[row]})"
        )
    yield wrong, "token_blocks", expected


def _nulls(array: pa.Array) -> _Mask:
    if array.null_count == 0:
        return np.zeros(len(array), dtype=bool)
    mask: _Mask = array.is_null().to_numpy(zero_copy_only=False)
    return mask


def _below(array: pa.Array, least: int) -> _Mask:
    if array.null_count == len(array):
        return np.zeros(len(array), dtype=bool)
    values = array.fill_null(least) if array.null_count else array
    mask: _Mask = values.to_numpy(zero_copy_only=False) < least
    return mask


def _not_among(array: pa.Array, known: tuple[str, ...]) -> _Mask:
    if array.null_count == len(array):
        return np.zeros(len(array), dtype=bool)
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    found = pc.is_in(array, value_set=pa.array(known, array.type))
    mask: _Mask = pc.and_(pc.invert(found), array.is_valid()).to_numpy(zero_copy_only=False)
    return mask


def _rows(array: pa.ListArray, inside: _Mask) -> _Mask:
    """Which rows hold one of the list elements that `inside` marks."""
    mask = np.zeros(len(array), dtype=bool)
    offsets = array.offsets.to_numpy()
    hits = np.flatnonzero(inside)
    hits = hits[(hits >= offsets[0]) & (hits < offsets[-1])]
    mask[np.searchsorted(offsets, hits, side="right") - 1] = True
    return mask
