"""Parquet that somebody else wrote, brought to the request log's types."""

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cachecast_datasets.errors import Bad, at, at_row, refuse
from cachecast_datasets.limits import MOMENTS
from cachecast_datasets.masks import Mask
from cachecast_datasets.request_log import SCHEMA
from cachecast_datasets.shown import named, shown

_MISFIT = (pa.ArrowInvalid, pa.ArrowNotImplementedError)
_PER_SECOND = {"s": 1, "ms": 1_000}
# parts of list elements that mean nothing when they are absent; the others must be there
_OPTIONAL = {
    "blocks": {"role", "canonical_hash", "masked_hash", "marker", "label"},
    "boundaries": {"position"},
}
Numbers = npt.NDArray[np.int64]  # of rows, from 1


def check_columns(schema: pa.Schema, source: str) -> list[str]:
    """The names of unknown columns; LogError if a needed one is missing or has a wrong type."""
    for name in SCHEMA.names[:2]:
        if name not in schema.names:
            raise at(
                source,
                None,
                f"column {name} is missing, expected the columns of the cachecast request log "
                "(request_id and arrival are required)",
                "missing column",
            )
    for field in schema:
        if schema.names.count(field.name) > 1:
            raise at(source, None, f"column {named(field.name)} is there twice, expected once")
        if field.name in SCHEMA.names:
            _check_type(field, SCHEMA.field(field.name).type, source)
    return [name for name in schema.names if name not in SCHEMA.names]


def _check_type(field: pa.Field, expected: pa.DataType, source: str) -> None:
    if not _fits(field.type, expected):
        raise at(source, None, f"column {field.name} is {field.type}, expected {expected}")
    if field.name in _OPTIONAL and not pa.types.is_null(field.type):
        given = {part.name for part in field.type.value_type}
        for part in expected.value_type:
            if part.name not in given | _OPTIONAL[field.name]:
                problem = f"column {field.name} has no {part.name}, expected {expected}"
                raise at(source, None, problem)


def readable(
    batch: pa.RecordBatch, source: str, numbers: Numbers, bad: Bad = refuse
) -> tuple[pa.RecordBatch, Numbers]:
    """`batch` without rows whose text is no UTF-8 (`bad` is told), and the numbers of the rest."""
    try:
        batch.validate(full=True)
    except pa.ArrowInvalid:
        wrong = np.zeros(batch.num_rows, dtype=bool)
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            for row in np.flatnonzero(~wrong).tolist():
                if not _is_text(column, row):
                    wrong[row] = True
                    problem = f"{name} is not valid UTF-8, expected text"
                    bad(at_row(source, int(numbers[row]), problem, f"bad {name}"))
        return batch.filter(pa.array(~wrong)), numbers[~wrong]
    return batch, numbers


def _is_text(column: pa.Array, row: int) -> bool:
    try:
        column.take(pa.array([row])).validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def conformed(
    batch: pa.RecordBatch, source: str, numbers: Numbers, bad: Bad = refuse
) -> tuple[pa.RecordBatch, Numbers]:
    """`batch` in SCHEMA's types; `bad` is told of rows whose value does not fit (a hash of -1)."""
    wrong = np.zeros(batch.num_rows, dtype=bool)
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        field = SCHEMA.field(name)
        misfits = _misfits(column, field.type)
        if misfits is None:
            continue
        accepted = MOMENTS if pa.types.is_timestamp(field.type) else str(field.type)
        for row in np.flatnonzero(misfits & ~wrong).tolist():
            problem = f"{name} is {_plain(column[row])}, expected {accepted}"
            bad(at_row(source, int(numbers[row]), problem, f"bad {name}"))
        wrong |= misfits
    if wrong.any():
        batch, numbers = batch.filter(pa.array(~wrong)), numbers[~wrong]
    fields = [SCHEMA.field(name).with_nullable(True) for name in batch.schema.names]
    columns = [
        column if column.type == field.type else _cast(column, field.type)
        for column, field in zip(batch.columns, fields, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields)), numbers


def _cast(column: pa.Array, kind: pa.DataType) -> pa.Array:
    # a time finer than a microsecond is cut, any other loss is an error
    return column.cast(kind, safe=not pa.types.is_timestamp(kind))


def _misfits(column: pa.Array, kind: pa.DataType) -> Mask | None:
    """Which values do not fit, None if all do."""
    if column.type == kind:
        return None
    if pa.types.is_timestamp(kind) and column.type != pa.null():
        # this cast may not be safe, so it would wrap around without a word
        most = (2**63 - 1) // (1_000_000 // _PER_SECOND.get(column.type.unit, 1_000_000))
        raw = column.view(pa.int64()).fill_null(0).to_numpy()
        over: Mask = (raw > most) | (raw < -most)
        return over if over.any() else None
    try:
        _cast(column, kind)
    except _MISFIT:
        return np.array([not _castable(column, row, kind) for row in range(len(column))])
    return None


def _castable(column: pa.Array, row: int, kind: pa.DataType) -> bool:
    try:
        # not a slice: its cast would look at the whole list behind it
        column.take(pa.array([row])).cast(kind)
    except _MISFIT:
        return False
    return True


def _plain(scalar: pa.Scalar) -> str:
    """The value; a time as its number and unit, since Python cannot hold every one."""
    if pa.types.is_timestamp(scalar.type):
        return f"{scalar.value} {scalar.type.unit}"
    return shown(scalar.as_py())


def _fits(actual: pa.DataType, expected: pa.DataType) -> bool:
    """Whether values of type `actual` can mean what `expected` says (wider or narrower is fine)."""
    types = pa.types
    if types.is_dictionary(actual):
        return _fits(actual.value_type, expected)
    if types.is_null(actual) or actual == expected:
        return True
    if types.is_timestamp(expected):
        return bool(types.is_timestamp(actual) and actual.tz is not None)
    if types.is_integer(expected):
        return bool(types.is_integer(actual))
    if types.is_floating(expected) or types.is_decimal(expected):
        return bool(
            types.is_floating(actual) or types.is_integer(actual) or types.is_decimal(actual)
        )
    if types.is_string(expected):
        return bool(types.is_large_string(actual) or types.is_string_view(actual))
    if types.is_map(expected):
        return bool(types.is_map(actual))
    if types.is_list(expected):
        listed = types.is_list(actual) or types.is_large_list(actual)
        return bool(listed and _fits(actual.value_type, expected.value_type))
    if types.is_struct(expected):
        known = {field.name: field.type for field in expected}
        return bool(types.is_struct(actual)) and all(
            field.name in known and _fits(field.type, known[field.name]) for field in actual
        )
    return False
