"""Requests into Arrow batches of the request log's schema."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from cachecast_datasets.block_path import PathPrefix
from cachecast_datasets.request import Boundaries, Observed, Request
from cachecast_datasets.request_log import SCHEMA

_OBSERVED_FIELDS = Observed._fields


def batch_of(requests: Sequence[Request]) -> pa.RecordBatch:
    """`requests` as one batch of SCHEMA, in the order given."""
    columns = []
    for field in SCHEMA:
        name = "arrival_us" if field.name == "arrival" else field.name
        values = [getattr(request, name) for request in requests]
        if name == "boundaries":
            values = [_own_or_path(request) for request in requests]
        columns.append(_ENCODERS.get(name, pa.array)(values, field.type))
    return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


def boundaries_column(values: Sequence[Boundaries | None]) -> pa.Array:
    """The `boundaries` column for one batch."""
    return _boundaries(values, SCHEMA.field("boundaries").type)


def _offsets(values: Sequence[Any], lengths: Sequence[int]) -> pa.Array:
    """List offsets; a null offset marks a null row, as `from_arrays` wants it."""
    offsets = np.zeros(len(values) + 1, dtype=np.int32)
    np.cumsum(lengths, out=offsets[1:])
    missing = np.array([value is None for value in values] + [False], dtype=bool)
    return pa.array(offsets, type=pa.int32(), mask=missing if missing.any() else None)


def _arrays(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """A list column of numpy arrays, without a Python object for each number."""
    numpy_type = kind.value_type.to_pandas_dtype()
    parts = [np.asarray(value, dtype=numpy_type) for value in values if value is not None]
    flat = np.concatenate(parts) if parts else np.empty(0, dtype=numpy_type)
    offsets = _offsets(values, [0 if value is None else len(value) for value in values])
    return pa.ListArray.from_arrays(offsets, pa.array(flat), type=kind)


def _own_or_path(request: Request) -> Boundaries | PathPrefix | None:
    if request.boundaries is None and isinstance(request.blocks, PathPrefix):
        return request.blocks
    return request.boundaries


def _prefixes(values: Sequence[Any], kind: pa.DataType, column: int) -> pa.Array | None:
    """A list column of path prefixes, copied by Arrow; None if any value is something else."""
    given = [value for value in values if value is not None]
    if not given or not all(isinstance(value, PathPrefix) for value in given):
        return None
    flat = pa.concat_arrays([value.path.arrays()[column].slice(0, len(value)) for value in given])
    lengths = [0 if value is None else len(value) for value in values]
    return pa.ListArray.from_arrays(_offsets(values, lengths), flat, type=kind)


def _boundaries(values: Sequence[Boundaries | PathPrefix | None], kind: pa.DataType) -> pa.Array:
    made = _prefixes(values, kind, 1)
    if made is not None:
        return made
    lists = [v.boundaries() if isinstance(v, PathPrefix) else v for v in values]
    given = [value for value in lists if value is not None]
    struct = kind.value_type
    flat = pa.StructArray.from_arrays(
        [
            pa.array([x for b in given for x in getattr(b, attribute)], struct.field(number).type)
            for number, attribute in enumerate(("tokens", "hashes", "names", "positions"))
        ],
        fields=list(struct),
    )
    lengths = [0 if value is None else len(value.tokens) for value in lists]
    return pa.ListArray.from_arrays(_offsets(values, lengths), flat, type=kind)


def _blocks(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    made = _prefixes(values, kind, 0)
    if made is not None:
        return made
    fields = list(kind.value_type)
    flat = [block for blocks in values if blocks is not None for block in blocks]
    columns = list(zip(*flat, strict=True)) or [()] * len(fields)
    struct = pa.StructArray.from_arrays(
        [pa.array(column, field.type) for column, field in zip(columns, fields, strict=True)],
        fields=fields,
    )
    lengths = [0 if blocks is None else len(blocks) for blocks in values]
    return pa.ListArray.from_arrays(_offsets(values, lengths), struct, type=kind)


def _settings(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    return pa.array([list(value.items()) or None for value in values], kind)


def _observed(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    rows = [
        None if value is None else {name: getattr(value, name) for name in _OBSERVED_FIELDS}
        for value in values
    ]
    return pa.array(rows, kind)


_ENCODERS: dict[str, Callable[[Sequence[Any], pa.DataType], pa.Array]] = {
    "blocks": _blocks,
    "boundaries": _boundaries,
    "token_blocks": _arrays,
    "token_ids": _arrays,
    "output_token_ids": _arrays,
    "settings": _settings,
    "observed": _observed,
}
