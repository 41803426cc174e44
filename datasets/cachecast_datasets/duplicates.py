"""Find ids that occur twice, exactly and in bounded memory."""

from collections.abc import Callable, Iterable, Iterator

import numpy as np
import pyarrow as pa
import xxhash

# 8 bytes each: 32 MiB a pass, and one more pass over the ids for every 4 million rows
HASHES_PER_PASS = 1 << 22
_SUSPECTS_PER_PASS = 1 << 17


def duplicate_ids(
    read_ids: Callable[[], Iterable[pa.Array]], rows: int
) -> Iterator[tuple[str, int, int]]:
    """(id, index of its first row, index of a later row) for every later row, in no fixed order.

    `read_ids` starts reading the id column from the front again; indexes count from 0. Equal
    64-bit hashes only raise a suspicion, the ids themselves decide.
    """
    passes = -(-rows // HASHES_PER_PASS)
    for number in range(passes):
        suspects = _repeated(read_ids(), rows, number, passes)
        for start in range(0, len(suspects), _SUSPECTS_PER_PASS):
            few = set(suspects[start : start + _SUSPECTS_PER_PASS].tolist())
            yield from _later_rows(read_ids(), few)


def _hash(value: str) -> int:
    return xxhash.xxh64_intdigest(value.encode())


def _repeated(
    ids: Iterable[pa.Array], rows: int, number: int, passes: int
) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    """The hashes of this pass (those that leave `number` when divided by `passes`) seen twice."""
    kept = []
    for array in ids:
        hashes = np.fromiter(map(_hash, array.to_pylist()), dtype=np.uint64, count=len(array))
        kept.append(hashes if passes == 1 else hashes[hashes % np.uint64(passes) == number])
    if not kept:
        return np.empty(0, dtype=np.uint64)
    ordered = np.sort(np.concatenate(kept))
    return np.unique(ordered[1:][ordered[1:] == ordered[:-1]])


def _later_rows(ids: Iterable[pa.Array], suspects: set[int]) -> Iterator[tuple[str, int, int]]:
    first: dict[str, int] = {}
    index = 0
    for array in ids:
        for value in array.to_pylist():
            if _hash(value) in suspects:
                if value in first:
                    yield value, first[value], index
                else:
                    first[value] = index
            index += 1


def places_of(
    batches: Iterator[pa.RecordBatch], wanted: set[int]
) -> Iterator[tuple[int, tuple[int, str]]]:
    """(index, (order of input, "SOURCE:LINE")) for the wanted indexes of the rows."""
    index = 0
    for batch in batches:
        rows = range(index, index + batch.num_rows)
        for number in wanted.intersection(rows):
            _, line, order, source = (column[number - index].as_py() for column in batch.columns)
            yield number, (order, f"{source}:{line}")
        index += batch.num_rows
