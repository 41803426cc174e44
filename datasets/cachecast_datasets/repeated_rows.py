"""The rows of an import whose id another row has, and the places of both in the person's files."""

from collections.abc import Iterator

import pyarrow as pa

from cachecast_datasets.duplicates import duplicate_ids
from cachecast_datasets.errors import LogError
from cachecast_datasets.shown import shown
from cachecast_datasets.sorting import ORDER, SOURCE, ArrivalSorter
from cachecast_datasets.source import Source

_COLUMNS = ["request_id", "source_line", ORDER, SOURCE]


class RowFiles:
    """The files that rows came from, by number, in the order in which they were read."""

    def __init__(self) -> None:
        self._files: list[tuple[str, bool]] = []  # (file, whether its rows are lines)

    def __len__(self) -> int:
        return len(self._files)

    def number(self, source: Source) -> int:
        """The number of the file that `source` is at."""
        label = source.label if source.file is None else str(source.file)
        if not self._files or self._files[-1][0] != label:
            self._files.append((label, source.file is None))
        return len(self._files) - 1

    def place(self, number: int, line: int | None) -> str:
        """A row's place as messages name it."""
        file, has_lines = self._files[number]
        return f"{file} line {line}" if has_lines and line is not None else file


def repeated_rows(sorter: ArrivalSorter, files: RowFiles) -> Iterator[tuple[int, LogError]]:
    """(order of input, fault that names both places) of every row but an id's first."""

    def ids() -> Iterator[pa.Array]:
        for batch in sorter.columns(_COLUMNS):
            yield batch.column(0)

    pairs = list(duplicate_ids(ids, sorter.rows))
    if not pairs:
        return
    wanted = {index for _, first, later in pairs for index in (first, later)}
    found = dict(_rows(sorter.columns(_COLUMNS), wanted))
    groups: dict[str, set[tuple[int, int, int | None]]] = {}
    for value, first, later in pairs:
        groups.setdefault(value, set()).update((found[first], found[later]))
    for value, members in groups.items():
        (_, kept_file, kept_line), *others = sorted(members, key=lambda row: row[0])
        kept = files.place(kept_file, kept_line)
        for order, file, line in others:
            yield order, _fault(value, kept, files.place(file, line))


def _rows(
    batches: Iterator[pa.RecordBatch], wanted: set[int]
) -> Iterator[tuple[int, tuple[int, int, int | None]]]:
    """(index, (order of input, number of the file, line)) for the wanted indexes of the rows."""
    index = 0
    for batch in batches:
        for number in wanted.intersection(range(index, index + batch.num_rows)):
            _, line, order, file = (column[number - index].as_py() for column in batch.columns)
            yield number, (order, file, line)
        index += batch.num_rows


def _fault(value: str, kept: str, place: str) -> LogError:
    problem = f"request_id is {shown(value)}, which {kept} already has; expected unique ids"
    error = LogError(f"{place}: {problem}")
    error.reason = "duplicate id"
    return error
