"""Hits where a block's life counts from its write and no use prolongs it."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from cachecast_sim.curve.jit import compiled
from cachecast_sim.curve.numbering import Numbers

Counts = npt.NDArray[np.int64]

_START = 1 << 14


class FixedLives:
    """Given lifetimes without refresh; each is a world of its own.

    Here a longer life can hit less: let A be used at 0, 10 and 15 s, and B behind it at 10 and 15.
    With 9 s A is written again at 10 and both hit at 15; with 10 s A hits at 10, and at 15 it has
    expired in front of B. So there is no threshold per block as there is with refresh. Hits change
    at differences of arrivals only, but their number grows with the square of the log: what is
    known, exactly, are the lifetimes asked for. A block that is present is not written again, one
    behind the first miss included. Memory: 4 bytes a distinct block and lifetime.
    """

    def __init__(self, lives_us: Sequence[int]) -> None:
        self.lives_us = tuple(lives_us)
        count = len(self.lives_us)
        self._written: Numbers = np.full((count, _START), -1, dtype=np.int32)
        self._arrival_us: Counts = np.empty(_START, dtype=np.int64)
        self._requests = 0
        self._hits: Counts = np.zeros((count, 2), dtype=np.int64)

    def add(
        self, arrival_us: Counts, numbers: Numbers, offsets: Counts, missing: Counts, distinct: int
    ) -> None:
        """Requests in order; see RecencyList.add."""
        self._make_room(distinct, len(arrival_us))
        first, self._requests = self._requests, self._requests + len(arrival_us)
        self._arrival_us[first : self._requests] = arrival_us
        for row, life_us in enumerate(self.lives_us):
            self._hits[row] += _write_all(
                self._arrival_us, first, numbers, offsets, missing, life_us, self._written[row]
            )

    def hits(self, life_us: int) -> tuple[int, int]:
        """(hit blocks, missing tokens of hit last blocks) at one of `lives_us`."""
        blocks, missing = self._hits[self.lives_us.index(life_us)].tolist()
        return blocks, missing

    def _make_room(self, distinct: int, requests: int) -> None:
        held = self._written.shape[1]
        if distinct > held:
            longer = np.full((len(self.lives_us), distinct + distinct // 2), -1, dtype=np.int32)
            longer[:, :held] = self._written
            self._written = longer
        needed = self._requests + requests
        if needed > len(self._arrival_us):
            more = np.empty(2 * needed - len(self._arrival_us), dtype=np.int64)
            self._arrival_us = np.concatenate((self._arrival_us, more))


@compiled
def _write_all(
    arrival_us: Counts, first: int, numbers: Numbers, offsets: Counts, missing: Counts,
    life_us: int, written: Numbers,
) -> tuple[int, int]:  # fmt: skip
    hits, short = 0, 0
    for r in range(len(offsets) - 1):
        now, leading = arrival_us[first + r], True
        for i in range(offsets[r], offsets[r + 1]):
            write = written[numbers[i]]
            if write >= 0 and now - arrival_us[write] <= life_us:
                hits += leading
            else:
                leading = False
                written[numbers[i]] = first + r
        if leading and offsets[r + 1] > offsets[r]:
            short += missing[r]
    return hits, short
