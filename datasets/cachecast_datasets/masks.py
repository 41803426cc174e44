"""Which rows of a column are wrong, as numpy masks."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Mask = npt.NDArray[np.bool_]


class Fault(NamedTuple):
    """Rows that break one rule: the column, what it accepts, and what stands there instead.

    `found(row)` gives the field with its index and the value; without it the column's own value.
    """

    rows: Mask
    column: str
    accepted: str | Callable[[int], str]
    found: Callable[[int], tuple[str, Any]] | None = None


def without_nulls(array: pa.Array) -> pa.Array:
    """A flat numeric column with whatever its null places hold, without copying it."""
    if array.null_count == 0:
        return array
    return pa.Array.from_buffers(
        array.type, len(array), [None, array.buffers()[1]], offset=array.offset
    )


def nulls(array: pa.Array) -> Mask:
    """Where the column is null."""
    if array.null_count == 0:
        return np.zeros(len(array), dtype=bool)
    mask: Mask = array.is_null().to_numpy(zero_copy_only=False)
    return mask


def beyond(array: pa.Array, least: int, most: int | None = None) -> Mask:
    """Where a number lies outside [least, most]; a null does not."""
    if array.null_count == len(array):
        return np.zeros(len(array), dtype=bool)
    values = without_nulls(array).to_numpy(zero_copy_only=False)
    mask: Mask = values < least
    if most is not None:
        mask |= values > most
    return mask & ~nulls(array) if array.null_count else mask


def not_among(array: pa.Array, known: tuple[str, ...]) -> Mask:
    """Where a string is none of `known`; a null is."""
    if array.null_count == len(array):
        return np.zeros(len(array), dtype=bool)
    encoded = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
    words = encoded.dictionary.to_pylist()
    strange = np.array([word not in known for word in words], dtype=bool)
    if not strange.any():
        return np.zeros(len(array), dtype=bool)
    codes = without_nulls(encoded.indices).to_numpy()
    mask: Mask = strange[np.where(nulls(array), 0, codes)] & ~nulls(array)
    return mask
