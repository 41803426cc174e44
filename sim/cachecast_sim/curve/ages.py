"""How long ago each block of a request was last used: hits at every lifetime with refresh."""

import numpy as np
import numpy.typing as npt

from cachecast_sim.curve.jit import compiled
from cachecast_sim.curve.numbering import Numbers

Counts = npt.NDArray[np.int64]

_START = 1 << 14
_WAITING = 1 << 20  # steps that wait before equal ages are added up


class UseAges:
    """Blocks that live a while after their last use, whatever that while is.

    A block is alive at every lifetime >= its age (now - last use), so a prompt's leading run ends
    at a lifetime where a greater age comes first. Every block of a request is used, hit or not.
    Memory: 8 bytes a distinct block and 24 a distinct age.
    """

    def __init__(self) -> None:
        self._used_us: Counts = np.full(_START, -1, dtype=np.int64)
        self._steps = _Steps()

    def add(
        self, arrival_us: Counts, numbers: Numbers, offsets: Counts, missing: Counts, distinct: int
    ) -> None:
        """Requests in order; see RecencyList.add. `arrival_us` >= 0 and never falls."""
        if distinct > len(self._used_us):
            longer = np.full(distinct + distinct // 2, -1, dtype=np.int64)
            longer[: len(self._used_us)] = self._used_us
            self._used_us = longer
        found = np.empty((3, len(numbers)), dtype=np.int64)
        count = _use_all(arrival_us, numbers, offsets, missing, self._used_us, *found)
        self._steps.add(found[:, :count])

    def steps(self) -> tuple[Counts, Counts, Counts]:
        """(age in µs, hit blocks, missing tokens of hit last blocks), ages rising, each once."""
        return self._steps.summed()


class _Steps:
    """Rows of (age, blocks, missing tokens), equal ages added up now and then."""

    def __init__(self) -> None:
        self._parts: list[Counts] = []
        self._waiting = 0

    def add(self, rows: Counts) -> None:
        self._parts.append(rows.copy())
        self._waiting += rows.shape[1]
        if self._waiting > _WAITING:
            self._parts = [np.stack(self.summed())]
            self._waiting = 0

    def summed(self) -> tuple[Counts, Counts, Counts]:
        if not self._parts:
            empty = np.empty(0, dtype=np.int64)
            return empty, empty, empty
        ages, blocks, missing = np.concatenate(self._parts, axis=1)
        order = np.argsort(ages, kind="stable")
        ages = ages[order]
        first = np.flatnonzero(np.diff(ages, prepend=-1))
        if not len(first):
            return ages, blocks, missing
        return (
            ages[first],
            np.add.reduceat(blocks[order], first),
            np.add.reduceat(missing[order], first),
        )


@compiled
def _use_all(
    arrival_us: Counts, numbers: Numbers, offsets: Counts, missing: Counts, used_us: Counts,
    ages: Counts, blocks: Counts, short: Counts,
) -> int:  # fmt: skip
    """Fill the last three with one step per stretch of equal age; return how many."""
    count = 0
    for r in range(len(offsets) - 1):
        now, oldest, alive, hit = arrival_us[r], -1, True, offsets[r]
        for i in range(offsets[r], offsets[r + 1]):
            used = used_us[numbers[i]]
            used_us[numbers[i]] = now
            alive = alive and used >= 0
            if not alive:
                continue
            hit += 1
            if now - used > oldest:
                oldest = now - used
                ages[count], blocks[count], short[count] = oldest, 0, 0
                count += 1
            blocks[count - 1] += 1
        if hit == offsets[r + 1] and hit > offsets[r]:
            short[count - 1] += missing[r]
    return count
