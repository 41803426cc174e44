from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cachecast_datasets import sorting
from cachecast_datasets.encode import batch_of
from cachecast_datasets.request import Request
from cachecast_datasets.sorting import ORDER, ArrivalSorter

BATCHES = st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=9), max_size=9)


def rows(batches: list[pa.RecordBatch]) -> list[tuple[int, int]]:
    return [
        (time, order)
        for batch in batches
        for time, order in zip(
            batch.column("arrival").view(pa.int64()).to_pylist(),
            batch.column(ORDER).to_pylist(),
            strict=True,
        )
    ]


@settings(max_examples=60, deadline=None)
@given(BATCHES, st.integers(1, 3), st.integers(2, 4), st.integers(1, 3))
def test_the_merge_of_runs_on_disk_is_what_sorted_says(
    log: list[list[int]], batches_per_run: int, fan_in: int, rows_per_batch: int
) -> None:
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(sorting, "RUN_BATCH_BYTES", rows_per_batch * 400)  # about 400 bytes a row
        sorter = ArrivalSorter(Path(folder), fan_in=fan_in)
        for number, times in enumerate(log):
            made = [Request(request_id="x", arrival_us=time) for time in times]
            sorter.add(batch_of(made), source=0)
            if number % batches_per_run == 0:
                sorter.end_run()
        # ties keep the order of input, which is the second part of each pair
        times = [time for batch in log for time in batch]
        assert rows(list(sorter.merged())) == sorted(zip(times, range(len(times)), strict=True))


def test_a_run_goes_to_disk_when_it_is_full_and_its_file_goes_when_it_was_merged(
    tmp_path: Path,
) -> None:
    sorter = ArrivalSorter(tmp_path, run_bytes=1, fan_in=2)
    for time in (5, 4, 3, 2, 1):
        sorter.add(batch_of([Request(request_id="x", arrival_us=time)]), source=0)
    assert len(list(tmp_path.iterdir())) == 5
    assert rows(list(sorter.merged())) == [(1, 4), (2, 3), (3, 2), (4, 1), (5, 0)]
    assert len(list(tmp_path.iterdir())) <= 2
