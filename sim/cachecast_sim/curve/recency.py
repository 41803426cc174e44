"""Where each block of a request stands in the list of most recently used blocks."""

import numpy as np
import numpy.typing as npt

from cachecast_sim.curve.jit import compiled
from cachecast_sim.curve.numbering import Numbers

Counts = npt.NDArray[np.int64]

_GROUP_BITS = 8
_GROUP = 1 << _GROUP_BITS  # slots that one sum counts; a tree of sums stands above them
_START = 1 << 14


class RecencyList:
    """An LRU list without bounds: from a block's place follows at which capacities it is a hit.

    What an LRU of C blocks holds is always the first C of this list, so a block is present at every
    capacity >= its place (1 = most recent), and a prompt's leading run ends at a capacity where a
    place beyond it comes first. A request is looked at before its own touches; then it is touched
    tail first, its head becoming the most recent.

    Each touch takes the next slot; places are counted in the slots that are still the last of their
    block. Memory: about 12 bytes a distinct block and 16 for the two histograms.
    """

    def __init__(self) -> None:
        self._slot_of: Numbers = np.full(_START, -1, dtype=np.int32)
        self._live = np.zeros(_START, dtype=np.uint8)
        self._sums: Numbers = np.zeros(_START // _GROUP + 1, dtype=np.int32)
        self._next = 0
        self.seen = 0
        self.unchained = 0
        self._blocks: Counts = np.zeros(_START, dtype=np.int64)
        self._missing: Counts = np.zeros(_START, dtype=np.int64)

    def add(self, numbers: Numbers, offsets: Counts, missing: Counts, distinct: int) -> None:
        """Requests in order: blocks `numbers[offsets[r]:offsets[r + 1]]`, all below `distinct`.

        `missing[r]` = tokens by which the last block falls short of a whole one. The slots of all
        of these requests must fit: at most 2**29 blocks at once.
        """
        self._make_room(distinct, len(numbers))
        self._next, self.seen, unchained = _touch_all(
            numbers, offsets, missing, self._slot_of, self._live, self._sums,
            self._blocks, self._missing, self._next, self.seen,
        )  # fmt: skip
        self.unchained += unchained

    def histograms(self) -> tuple[Counts, Counts]:
        """(hit blocks, missing tokens of hit last blocks) by the least capacity that holds them.

        Index = capacity in blocks, from 0 to the number of distinct blocks.
        """
        return self._blocks[: self.seen + 1], self._missing[: self.seen + 1]

    def _make_room(self, distinct: int, touches: int) -> None:
        if distinct + 1 > len(self._slot_of):
            size = distinct + 1 + distinct // 2
            self._slot_of = _longer(self._slot_of, size, -1)
            self._blocks = _longer(self._blocks, size, 0)
            self._missing = _longer(self._missing, size, 0)
        if self._next + touches <= len(self._live):
            return
        # slots run out: the live ones move together, keeping their order
        size = _rounded(max(2 * (self.seen + touches), len(self._live)))
        before = np.cumsum(self._live, dtype=np.int32) - self._live
        touched = self._slot_of >= 0
        self._slot_of[touched] = before[self._slot_of[touched]]
        self._next = self.seen
        self._live = np.zeros(size, dtype=np.uint8)
        self._live[: self.seen] = 1
        self._sums = _tree(self._live)


def _longer(array: npt.NDArray[np.generic], size: int, fill: int):  # type: ignore[no-untyped-def]
    made = np.full(size, fill, dtype=array.dtype)
    made[: len(array)] = array
    return made


def _rounded(size: int) -> int:
    return -(-size // _GROUP) * _GROUP


def _tree(live: npt.NDArray[np.uint8]) -> Numbers:
    """A Fenwick tree over the number of live slots in each group, counted from 1."""
    upto = np.concatenate(([0], np.cumsum(live.reshape(-1, _GROUP).sum(axis=1))))
    places = np.arange(len(upto))
    return (upto - upto[places - (places & -places)]).astype(np.int32)


@compiled
def _change(sums: Numbers, group: int, by: int) -> None:
    i = group + 1
    while i < len(sums):
        sums[i] += by
        i += i & -i


@compiled
def _live_up_to(slot: int, live: npt.NDArray[np.uint8], sums: Numbers) -> int:
    """How many live slots there are in [0, slot]."""
    group = slot >> _GROUP_BITS
    count = 0
    for i in range(group * _GROUP, slot + 1):
        count += live[i]
    i = group
    while i > 0:
        count += sums[i]
        i -= i & -i
    return count


@compiled
def _touch_all(
    numbers: Numbers, offsets: Counts, missing: Counts, slot_of: Numbers,
    live: npt.NDArray[np.uint8], sums: Numbers, blocks: Counts, short: Counts, next_slot: int,
    seen: int,
) -> tuple[int, int, int]:  # fmt: skip
    unchained = 0
    for r in range(len(offsets) - 1):
        start, end = offsets[r], offsets[r + 1]
        unchained += _look_up(numbers, start, end, missing[r], slot_of, live, sums, blocks, short,
                              seen)  # fmt: skip
        next_slot, seen = _touch(numbers, start, end, slot_of, live, sums, next_slot, seen)
    return next_slot, seen, unchained


@compiled
def _look_up(
    numbers: Numbers, start: int, end: int, missing: int, slot_of: Numbers,
    live: npt.NDArray[np.uint8], sums: Numbers, blocks: Counts, short: Counts, seen: int,
) -> int:  # fmt: skip
    """Enter the leading run into the histograms; 1 if the ids are not chained (Measured)."""
    place, furthest, slot_before, unchained, whole = 0, 0, -2, 0, True
    for i in range(start, end):
        slot = slot_of[numbers[i]]
        if slot < 0:
            whole = False
        elif not whole:
            return 1
        else:
            # touched together: the next block's slot is the one below, and live
            if slot == slot_before - 1:
                place += 1
            else:
                place = seen - _live_up_to(slot, live, sums) + 1
            slot_before = slot
            if place > furthest:
                furthest = place
            else:
                unchained = 1
            blocks[furthest] += 1
    if whole and end > start:
        short[furthest] += missing
    return unchained


@compiled
def _touch(
    numbers: Numbers, start: int, end: int, slot_of: Numbers, live: npt.NDArray[np.uint8],
    sums: Numbers, next_slot: int, seen: int,
) -> tuple[int, int]:  # fmt: skip
    """Give each block, from the tail, a new slot; the tree is told once per group, not per slot."""
    old_group, old_count, new_group, new_count = 0, 0, next_slot >> _GROUP_BITS, 0
    for i in range(end - 1, start - 1, -1):
        slot = slot_of[numbers[i]]
        if slot < 0:
            seen += 1
        else:
            live[slot] = 0
            if slot >> _GROUP_BITS != old_group:
                _change(sums, old_group, -old_count)
                old_group, old_count = slot >> _GROUP_BITS, 0
            old_count += 1
        if next_slot >> _GROUP_BITS != new_group:
            _change(sums, new_group, new_count)
            new_group, new_count = next_slot >> _GROUP_BITS, 0
        live[next_slot] = 1
        slot_of[numbers[i]] = next_slot
        new_count += 1
        next_slot += 1
    _change(sums, old_group, -old_count)
    _change(sums, new_group, new_count)
    return next_slot, seen
