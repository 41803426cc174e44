from collections import Counter
from collections.abc import Iterator

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cachecast_datasets import duplicates
from cachecast_datasets.duplicates import duplicate_ids


def later_rows(ids: list[str], per_batch: int = 3) -> list[tuple[str, int, int]]:
    def read() -> Iterator[pa.Array]:
        for start in range(0, len(ids), per_batch):
            yield pa.array(ids[start : start + per_batch], pa.string())

    return sorted(duplicate_ids(read, len(ids)))


def test_each_later_row_is_reported_with_the_first_that_has_its_id() -> None:
    assert later_rows(["a", "b", "a", "c", "a"]) == [("a", 0, 2), ("a", 0, 4)]


def test_ids_that_only_share_a_hash_are_no_duplicates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duplicates, "_hash", lambda value: 7)
    assert later_rows(["a", "b", "a"]) == [("a", 0, 2)]


@settings(max_examples=60)
@given(st.lists(st.text(alphabet="abc", max_size=2), max_size=30), st.integers(1, 5))
def test_several_passes_find_what_one_would(ids: list[str], per_pass: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(duplicates, "HASHES_PER_PASS", per_pass)
        patch.setattr(duplicates, "_SUSPECTS_PER_PASS", 1)
        found = later_rows(ids)
    assert Counter(value for value, _, _ in found) == {
        value: times - 1 for value, times in Counter(ids).items() if times > 1
    }
