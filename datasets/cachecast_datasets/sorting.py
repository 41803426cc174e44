"""Sort more rows than fit into memory: sorted runs on disk, merged by threshold."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from cachecast_datasets.request_log import SCHEMA

RUN_BYTES = 48 << 20  # in memory while a run is collected (and once more while it is sorted)
RUN_BATCH_BYTES = 4 << 20  # what each run holds in memory while runs are merged
FAN_IN = 32

ORDER, SOURCE = "_order", "_source"
RUN_SCHEMA = SCHEMA.append(pa.field(ORDER, pa.int64())).append(pa.field(SOURCE, pa.int32()))


class ArrivalSorter:
    """Takes batches of SCHEMA in any order and gives them back by (arrival, order of input)."""

    def __init__(self, folder: Path, run_bytes: int = RUN_BYTES, fan_in: int = FAN_IN) -> None:
        self._folder = folder
        self._run_bytes = run_bytes
        self._fan_in = fan_in
        self._waiting: list[pa.RecordBatch] = []
        self._waiting_bytes = 0
        self._runs: list[Path] = []
        self._made = 0
        self.rows = 0

    def add(self, batch: pa.RecordBatch, source: int | Sequence[int]) -> None:
        """Take `batch`; `source` (of all rows, or of each) is kept as the column `_source`."""
        order = pa.array(np.arange(self.rows, self.rows + batch.num_rows), pa.int64())
        sources = pa.array(np.broadcast_to(source, batch.num_rows), pa.int32())
        self.rows += batch.num_rows
        columns = [*batch.columns, order, sources]
        self._waiting.append(pa.RecordBatch.from_arrays(columns, schema=RUN_SCHEMA))
        self._waiting_bytes += batch.nbytes
        if self._waiting_bytes >= self._run_bytes:
            self.end_run()

    def end_run(self) -> None:
        """Sort what waits and put it on disk."""
        if self._waiting:
            self._write_run([_sorted(self._waiting)])
        self._waiting, self._waiting_bytes = [], 0

    def columns(self, names: list[str]) -> Iterator[pa.RecordBatch]:
        """These columns of all rows, in no fixed order but the same one each time."""
        self.end_run()
        for run in self._runs:
            yield from _read(run, names)

    def merged(self) -> Iterator[pa.RecordBatch]:
        """All rows by (arrival, order of input), in batches of RUN_SCHEMA."""
        self.end_run()
        while len(self._runs) > self._fan_in:
            few, self._runs = self._runs[: self._fan_in], self._runs[self._fan_in :]
            self._write_run(merge([_read(run) for run in few]))
            for run in few:
                run.unlink()
        return merge([_read(run) for run in self._runs])

    def _write_run(self, batches: Iterator[pa.RecordBatch] | list[pa.RecordBatch]) -> None:
        path = self._folder / f"run{self._made}.arrow"
        self._made += 1
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, RUN_SCHEMA) as writer:
            for batch in batches:
                for piece in _pieces(batch):
                    writer.write_batch(piece)
        self._runs.append(path)


def _pieces(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """`batch` cut so that a piece has about RUN_BATCH_BYTES and at most 2,048 rows."""
    bytes_per_row = max(1, batch.nbytes // max(1, batch.num_rows))
    rows = min(2048, max(1, RUN_BATCH_BYTES // bytes_per_row))
    for start in range(0, batch.num_rows, rows):
        yield batch.slice(start, rows)


def _read(run: Path, names: list[str] | None = None) -> Iterator[pa.RecordBatch]:
    fields = None if names is None else [RUN_SCHEMA.get_field_index(name) for name in names]
    options = pa.ipc.IpcReadOptions(included_fields=fields)
    with pa.OSFile(str(run), "rb") as file:
        reader = pa.ipc.open_file(file, options=options)
        for number in range(reader.num_record_batches):
            yield reader.get_batch(number)


def merge(runs: list[Iterator[pa.RecordBatch]]) -> Iterator[pa.RecordBatch]:
    """Sorted runs as one: each step takes, from all runs, the rows that no later batch can beat.

    The threshold is the smallest last row among the batches in hand; that batch is used up, so
    every step makes progress and holds one batch of each run.
    """
    heads = {number: batch for number, run in enumerate(runs) if (batch := next(run, None))}
    while heads:
        if len(heads) == 1:
            ((number, batch),) = heads.items()
            yield batch
            yield from runs[number]
            return
        last = min(_key(batch, batch.num_rows - 1) for batch in heads.values())
        ready = []
        for number, batch in list(heads.items()):
            count = _rows_up_to(batch, last)
            if count:
                ready.append(batch.slice(0, count))
            rest = batch.slice(count) if count < batch.num_rows else next(runs[number], None)
            if rest is None:
                del heads[number]
            else:
                heads[number] = rest
        yield _sorted(ready)


def _times(batch: pa.RecordBatch) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    times: np.ndarray[tuple[int], np.dtype[np.int64]] = (
        batch.column("arrival").view(pa.int64()).to_numpy()
    )
    return times


def _key(batch: pa.RecordBatch, row: int) -> tuple[int, int]:
    return int(_times(batch)[row]), batch.column(ORDER)[row].as_py()


def _rows_up_to(batch: pa.RecordBatch, last: tuple[int, int]) -> int:
    times, order = _times(batch), batch.column(ORDER).to_numpy()
    return int(np.count_nonzero((times < last[0]) | ((times == last[0]) & (order <= last[1]))))


def _sorted(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    batch = pa.concat_batches(batches) if len(batches) > 1 else batches[0]
    order = np.lexsort((batch.column(ORDER).to_numpy(), _times(batch)))
    if bool((order[1:] > order[:-1]).all()):
        return batch
    return batch.take(pa.array(order))
