"""Rows of an import whose id an earlier row has: told one by one, then left out."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cachecast_datasets.checks import Bad
from cachecast_datasets.duplicates import duplicate_ids, places_of
from cachecast_datasets.errors import LogError
from cachecast_datasets.row_places import RowPlaces
from cachecast_datasets.shown import shown
from cachecast_datasets.sorting import ORDER, SOURCE, ArrivalSorter


def repeated_rows(sorter: ArrivalSorter, places: RowPlaces, bad: Bad) -> npt.NDArray[np.int64]:
    """The input order numbers of rows whose id an earlier row has; `bad` hears of each."""
    names = ["request_id", "source_line", ORDER, SOURCE]

    def ids() -> Iterator[pa.Array]:
        for batch in sorter.columns(names):
            yield batch.column(0)

    pairs = list(duplicate_ids(ids, sorter.rows))
    if not pairs:
        return np.empty(0, dtype=np.int64)
    wanted = {index for _, first, later in pairs for index in (first, later)}
    found = dict(places_of(sorter.columns(names), wanted))
    groups: dict[str, set[tuple[int, str]]] = {}
    for value, first, later in pairs:
        groups.setdefault(value, set()).update((found[first], found[later]))
    dropped = []
    for value, members in groups.items():
        (_, kept), *others = sorted(members)
        for order, place in others:
            bad(_fault(value, _spelled(kept, places), _spelled(place, places)))
            dropped.append(order)
    return np.array(dropped, dtype=np.int64)


def _spelled(text: str, places: RowPlaces) -> str:
    number, line = text.split(":")
    return places.spelled(int(number), None if line == "None" else int(line))


def _fault(value: str, kept: str, place: str) -> LogError:
    problem = f"request_id is {shown(value)}, which {kept} already has; expected unique ids"
    error = LogError(f"{place}: {problem}")
    error.reason = "duplicate id"
    return error
