"""Reading the side file of `import --keep-text`: the texts of one request at a time.

The file is as large as the log's texts, so only the ids are held; texts come from the few row
groups that were asked for last.
"""

from collections import OrderedDict
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import xxhash

from cachecast_datasets.errors import at
from cachecast_datasets.text_file import text_path

GROUPS_HELD = 8


class KeptTexts:
    """The texts of a log's prompts, by request id. Use it as a context manager."""

    def __init__(self, path: Path) -> None:
        """LogError if `path` is no text file of cachecast."""
        try:
            self._file = pq.ParquetFile(path)
        except (pa.ArrowException, OSError) as problem:
            message = "not a whole text file, expected one that import --keep-text wrote"
            raise at(str(path), None, message) from problem
        self._places: dict[int, tuple[int, int, int]] = {}  # id -> (row group, first row, rows)
        self._groups: OrderedDict[int, pa.Array] = OrderedDict()
        for group in range(self._file.num_row_groups):
            self._enter(group)

    def __enter__(self) -> "KeptTexts":
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def _enter(self, group: int) -> None:
        table = self._file.read_row_group(group, columns=["request_id", "side"])
        ids = table.column("request_id").to_numpy(zero_copy_only=False)
        sides = table.column("side").to_numpy(zero_copy_only=False)
        starts = np.flatnonzero(np.concatenate(([True], ids[1:] != ids[:-1]))).tolist()
        for start, end in zip(starts, [*starts[1:], len(ids)], strict=True):
            prompt = int(np.count_nonzero(sides[start:end] == "prompt"))
            self._places.setdefault(_key(ids[start]), (group, start, prompt))

    def of(self, request_id: str) -> list[str] | None:
        """The texts of the prompt's blocks, in order; None for a request that has none here."""
        place = self._places.get(_key(request_id))
        if place is None:
            return None
        group, start, rows = place
        texts: list[str] = self._texts(group).slice(start, rows).to_pylist()
        return texts

    def _texts(self, group: int) -> pa.Array:
        found = self._groups.pop(group, None)
        if found is None:
            found = self._file.read_row_group(group, columns=["text"]).column(0).combine_chunks()
            if len(self._groups) >= GROUPS_HELD:
                self._groups.popitem(last=False)
        self._groups[group] = found
        return found


def _key(request_id: str) -> int:
    return xxhash.xxh64_intdigest(request_id.encode(errors="surrogatepass"))


def kept_texts(log: Path) -> KeptTexts | None:
    """The texts beside a log's Parquet; None if there are none."""
    path = text_path(log)
    return KeptTexts(path) if path.is_file() else None
