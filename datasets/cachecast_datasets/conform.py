"""Parquet that somebody else wrote, brought to the request log's types."""

import pyarrow as pa

from cachecast_datasets.checks import shown
from cachecast_datasets.errors import LogError, at, at_row
from cachecast_datasets.request_log import SCHEMA


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
        if field.name in SCHEMA.names and not _fits(field.type, SCHEMA.field(field.name).type):
            expected = SCHEMA.field(field.name).type
            raise at(source, None, f"column {field.name} is {field.type}, expected {expected}")
    return [name for name in schema.names if name not in SCHEMA.names]


def conformed(batch: pa.RecordBatch, source: str, first_row: int) -> pa.RecordBatch:
    """`batch` in SCHEMA's types. LogError if a value does not fit (a hash of -1, say)."""
    fields, columns = [], []
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        field = SCHEMA.field(name)
        fields.append(field.with_nullable(True))
        columns.append(
            column if column.type == field.type else _cast(column, field, source, first_row)
        )
    return pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields))


def _cast(column: pa.Array, field: pa.Field, source: str, first_row: int) -> pa.Array:
    try:
        # a time finer than a microsecond is cut, any other loss is an error
        return column.cast(field.type, safe=not pa.types.is_timestamp(field.type))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as problem:
        raise _misfit(column, field, source, first_row) from problem


def _misfit(column: pa.Array, field: pa.Field, source: str, first_row: int) -> LogError:
    for row in range(len(column)):
        try:
            column[row : row + 1].cast(field.type)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            value = column[row].as_py()
            problem = f"{field.name} is {shown(value)}, expected {field.type}"
            return at_row(source, first_row + row, problem)
    return at(source, None, f"column {field.name} is {column.type}, expected {field.type}")


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
