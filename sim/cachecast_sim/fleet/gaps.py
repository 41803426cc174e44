"""The times between two tokens of a job, counted: most come as stretches of steps."""

from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]

_AT_LEAST = 1 << 20  # step ends that wait to be counted together
_HALF = 32  # bits


@dataclass(frozen=True, slots=True, eq=False)
class GapCounts:
    """How often each time came: `lengths_ns` grow, `times` says how often, shape [different]."""

    lengths_ns: Ints
    times: Ints

    def __bool__(self) -> bool:
        return len(self.times) > 0

    def total_ns(self) -> int:
        """All of them added up, exact: in halves, so that 64 bits hold what 2**31 of them give."""
        low = self.lengths_ns & ((1 << _HALF) - 1)
        high = int(np.dot(self.lengths_ns >> _HALF, self.times))
        return (high << _HALF) + int(np.dot(low, self.times))

    def as_dict(self) -> dict[int, int]:
        """Times by length."""
        return dict(zip(self.lengths_ns.tolist(), self.times.tolist(), strict=True))


class Gaps:
    """Counts as they come. `counts` are those of single steps, and of steps that last equally long.

    Where steps depend on the context a stretch's gaps are seldom alike: their ends are kept, 8
    bytes each, and sorted together now and then instead of being looked up one by one.
    """

    def __init__(self) -> None:
        self.counts: dict[int, int] = {}
        self._ends = array("q")  # of stretches, one behind the other
        self._lengths: list[int] = []
        self._jobs: list[int] = []
        self._merged = counted({})

    def add(self, gap_ns: int, count: int) -> None:
        """So many gaps of one length."""
        self.counts[gap_ns] = self.counts.get(gap_ns, 0) + count

    def add_ends(self, ends: Sequence[int], jobs: int) -> None:
        """Each of so many jobs got a token at 0 and at each of these ends, of which there is one
        at least."""
        self._ends.extend(ends)
        self._lengths.append(len(ends))
        self._jobs.append(jobs)
        if len(self._ends) >= _AT_LEAST and len(self._ends) >= len(self._merged.times):
            self._merge()

    def counted(self) -> GapCounts:
        """All so far."""
        if self._ends:
            self._merge()
        return together([self._merged, counted(self.counts)])

    def _merge(self) -> None:
        lengths, every = np.array(self._lengths), np.frombuffer(self._ends, dtype=np.int64)
        between = np.diff(every, prepend=0)
        starts = np.cumsum(lengths) - lengths
        between[starts] = every[starts]
        jobs = np.repeat(np.array(self._jobs, dtype=np.int64), lengths)
        self._merged = together([self._merged, GapCounts(between, jobs)])
        self._ends, self._lengths, self._jobs = array("q"), [], []


def counted(counts: Mapping[int, int]) -> GapCounts:
    """Counts that are known by their length."""
    lengths = np.fromiter(counts.keys(), dtype=np.int64, count=len(counts))
    return together([GapCounts(lengths, np.fromiter(counts.values(), np.int64, len(counts)))])


def together(parts: Iterable[GapCounts]) -> GapCounts:
    """The sum of parts, in which a length may come several times and in any order."""
    found = [part for part in parts if part]
    if not found:
        return GapCounts(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))
    lengths = np.concatenate([part.lengths_ns for part in found])
    times = np.concatenate([part.times for part in found])
    lengths, times = _in_order(lengths, times)
    first = np.concatenate(([True], lengths[1:] != lengths[:-1]))
    if first.all():
        return GapCounts(lengths, times)
    return GapCounts(lengths[first], np.add.reduceat(times, np.flatnonzero(first)))


def _in_order(lengths: Ints, times: Ints) -> tuple[Ints, Ints]:
    """By length. As one number each where both fit: four times as fast as sorting places."""
    bits = int(times.max()).bit_length()
    if int(lengths.max()).bit_length() + bits < 64:
        both = np.sort(lengths << bits | times)
        return both >> bits, both & ((1 << bits) - 1)
    order = np.argsort(lengths, kind="stable")
    return lengths[order], times[order]
