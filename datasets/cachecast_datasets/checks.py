"""What every batch of a request log must satisfy, whoever wrote it. All checks are vectorised."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cachecast_datasets.errors import LogError, at_row
from cachecast_datasets.limits import MAX_S, MAX_TOKENS, MAX_US, MOMENTS
from cachecast_datasets.list_checks import list_faults
from cachecast_datasets.masks import Fault, Mask, beyond, not_among, nulls
from cachecast_datasets.request import CACHE_MODES, COST_KINDS, STATUSES
from cachecast_datasets.shown import shown

__all__ = ["CHEAP", "FLAT", "Bad", "RowChecker", "broken_rows", "refuse", "shown"]

_SECONDS = ("arrival_uncertainty_s", "first_token_s", "end_s", "think_time_s")
_COUNTS = ("prompt_tokens", "output_tokens", "tools_tokens", "system_tokens")
_WORDS = {"status": STATUSES, "cache_mode": CACHE_MODES}
# flat columns, which cost next to nothing to read: they are checked whoever asks for what
CHEAP = (*_SECONDS, *_COUNTS, *_WORDS, "attempt", "token_block_size")
# all columns without lists, in which readers may let through what no log holds
FLAT = ("request_id", "arrival", *CHEAP, "observed")
Bad = Callable[[LogError], None]
_Numbers = npt.NDArray[np.int64]


def refuse(problem: LogError) -> None:
    """What to do with a bad row unless somebody asked to skip: stop."""
    raise problem


def broken_rows(batch: pa.RecordBatch, tell: Callable[[int, str, str], None]) -> Mask:
    """Which rows break the schema; `tell` hears of each once: (row, problem, kind of fault)."""
    columns = dict(zip(batch.schema.names, batch.columns, strict=True))
    wrong = np.zeros(batch.num_rows, dtype=bool)
    for fault in _faults(columns):
        if not fault.rows.any():
            continue
        for row in np.flatnonzero(fault.rows & ~wrong).tolist():
            field, value = _found(fault, columns, row)
            accepted = fault.accepted
            accepted = accepted if isinstance(accepted, str) else accepted(row)
            tell(row, f"{field} is {value}, expected {accepted}", f"bad {fault.column}")
        wrong |= fault.rows
    return wrong


class RowChecker:
    """Checks the batches of one file in a row; knows the last arrival."""

    def __init__(self, source: str, bad: Bad = refuse) -> None:
        """`bad` gets a LogError for each bad row; where it returns, the row is left out."""
        self._source = source
        self._bad = bad
        self._last_us = np.iinfo(np.int64).min

    def sound(self, batch: pa.RecordBatch, numbers: _Numbers) -> tuple[pa.RecordBatch, _Numbers]:
        """`batch` without its bad rows: broken values first, then rows before an earlier one.

        `numbers` are the rows' numbers in the file, from 1; those of the rest are returned.
        """

        def tell(row: int, problem: str, reason: str) -> None:
            self._bad(at_row(self._source, int(numbers[row]), problem, reason))

        wrong = broken_rows(batch, tell)
        if wrong.any():
            batch, numbers = batch.filter(pa.array(~wrong)), numbers[~wrong]
        return self._in_order(batch, numbers)

    def _in_order(
        self, batch: pa.RecordBatch, numbers: _Numbers
    ) -> tuple[pa.RecordBatch, _Numbers]:
        if not batch.num_rows:
            return batch, numbers
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
        if wrong.any():
            return batch.filter(pa.array(~wrong)), numbers[~wrong]
        return batch, numbers


def _found(fault: Fault, columns: dict[str, pa.Array], row: int) -> tuple[str, str]:
    if fault.found is not None:
        field, value = fault.found(row)
        return field, shown(value)
    scalar = columns[fault.column.split(".")[0]][row]
    if pa.types.is_timestamp(scalar.type) and scalar.is_valid:
        return fault.column, _time(scalar.value)
    return fault.column, shown(scalar.as_py())


def _time(us: Any) -> str:
    return str(np.datetime64(int(us), "us")) + "Z"


def _faults(columns: dict[str, pa.Array]) -> Iterator[Fault]:
    for name in ("request_id", "arrival"):
        yield Fault(nulls(columns[name]), name, "a value")
    arrival = columns["arrival"].view(pa.int64())
    yield Fault(beyond(arrival, 0, MAX_US), "arrival", MOMENTS)
    for name in _SECONDS:
        if (array := columns.get(name)) is not None and array.null_count < len(array):
            values = array.to_numpy(zero_copy_only=False)  # a null becomes NaN
            odd = ~nulls(array) & ~((values >= 0) & (values <= MAX_S))
            if odd.any():
                finite = np.isfinite(values) & (values >= 0)
                yield Fault(odd & ~finite, name, "a finite number >= 0")
                yield Fault(odd, name, f"at most {MAX_S:g} s")
    for name in _COUNTS:
        if name in columns:
            yield from _counts(columns[name], name)
    if "attempt" in columns:
        yield Fault(beyond(columns["attempt"], 0), "attempt", ">= 0")
    if "token_block_size" in columns:
        yield Fault(beyond(columns["token_block_size"], 1), "token_block_size", ">= 1")
    for name, known in _WORDS.items():
        if name in columns:
            accepted = "one of " + ", ".join(known)
            yield Fault(not_among(columns[name], known), name, accepted)
    if "observed" in columns and columns["observed"].null_count < len(columns["observed"]):
        yield from _observed_faults(columns["observed"])
    yield from list_faults(columns)


def _counts(array: pa.Array, name: str) -> Iterator[Fault]:
    if array.null_count < len(array):
        wrong = beyond(array, 0, MAX_TOKENS)
        if wrong.any():
            yield Fault(beyond(array, 0), name, ">= 0")
            yield Fault(wrong, name, f"at most {MAX_TOKENS}")


def _observed_faults(array: pa.StructArray) -> Iterator[Fault]:
    # flattened, a field of a row without `observed` is null, whatever lies in its place
    for field, child in zip(array.type, array.flatten(), strict=True):
        name = f"observed.{field.name}"
        if pa.types.is_integer(field.type):
            for fault in _counts(child, name):
                yield fault._replace(found=_child(child, name))
        elif field.name == "cost_kind":
            accepted = "one of " + ", ".join(COST_KINDS)
            yield Fault(not_among(child, COST_KINDS), name, accepted, _child(child, name))


def _child(child: pa.Array, name: str) -> Callable[[int], tuple[str, Any]]:
    return lambda row: (name, child[row].as_py())
