"""Times between tokens, counted in arrays, against a dictionary and a list of them all."""

from collections import Counter
from itertools import accumulate, pairwise
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachecast_sim.fleet import gaps as module
from cachecast_sim.fleet.gaps import Gaps, counted, together
from cachecast_sim.fleet.summary import NS, quantiles_of_counts, spread_of_counts

times = st.integers(1, 40) | st.integers(1, 1 << 55)
stretches = st.lists(st.tuples(st.lists(times, min_size=1, max_size=9), st.integers(1, 5000)))


@given(stretches, st.lists(st.tuples(times, st.integers(1, 9))), st.integers(1, 20))
def test_counts_are_those_of_a_dictionary(
    said: list[tuple[list[int], int]], singles: list[tuple[int, int]], at_once: int
) -> None:
    gaps, expected = Gaps(), Counter[int]()
    with patch.object(module, "_AT_LEAST", at_once):
        for gap_ns, count in singles:
            gaps.add(gap_ns, count)
            expected[gap_ns] += count
        for between, jobs in said:
            ends = list(accumulate(between))
            gaps.add_ends(ends, jobs)
            for before, end in pairwise([0, *ends]):
                expected[end - before] += jobs
        found = gaps.counted()

    assert found.as_dict() == expected
    assert found.lengths_ns.tolist() == sorted(expected)
    assert found.total_ns() == sum(gap * count for gap, count in expected.items())
    assert bool(found) == bool(expected)


def test_a_count_goes_on_after_somebody_has_asked() -> None:
    gaps = Gaps()
    gaps.add_ends([10, 20, 35], 2)
    assert gaps.counted().as_dict() == {10: 4, 15: 2}

    gaps.add_ends([15], 1)
    assert gaps.counted().as_dict() == {10: 4, 15: 3}


def test_the_counts_of_several_servers_add_up() -> None:
    both = together([counted({30: 2, 10: 1}), counted({}), counted({10: 4, 20: 8})])
    assert both.as_dict() == {10: 5, 20: 8, 30: 2}


@given(st.dictionaries(st.integers(1, 10_000), st.integers(1, 30), min_size=1))
def test_quantiles_and_mean_are_those_of_the_written_out_list(counts: dict[int, int]) -> None:
    every = np.repeat(np.array(list(counts)), list(counts.values()))
    shares = (0, 0.5, 0.9, 0.99, 1)

    found = counted(counts)
    expected = np.quantile(every / NS, shares)
    assert quantiles_of_counts(found, shares) == pytest.approx(expected.tolist(), rel=1e-12)
    spread = spread_of_counts(found)
    assert spread is not None
    assert spread.mean == sum(every.tolist()) / len(every) / NS


def test_without_gaps_there_is_no_spread() -> None:
    assert spread_of_counts(counted({})) is None
