"""64-bit block ids as small numbers, counted in the order in which ids are first seen."""

import numpy as np
import numpy.typing as npt

from cachecast_sim.curve.jit import compiled

Ids = npt.NDArray[np.uint64]
Numbers = npt.NDArray[np.int32]

_AT_ONCE = 1 << 16  # ids between two looks at whether the table must grow
_START = 1 << 12
_SPREAD = 0x9E37_79B9_7F4A_7C15  # 2**64 over the golden ratio: neighbours land far apart


class BlockNumbers:
    """Gives each distinct id the next number: 0, 1, 2, …

    A new suffix of a prompt gets consecutive numbers, so a prompt that was seen before is a few
    runs of consecutive numbers; everything behind this class lives on that. Memory: 16 to 32 bytes
    a distinct id.
    """

    def __init__(self) -> None:
        self._ids: Ids = np.empty(_START, dtype=np.uint64)
        self._table: Numbers = np.full(4 * _START, -1, dtype=np.int32)
        self.count = 0

    def of(self, ids: Ids) -> Numbers:
        """The number of each id, new ones included; same length as `ids`."""
        made = np.empty(len(ids), dtype=np.int32)
        for start in range(0, len(ids), _AT_ONCE):
            part = ids[start : start + _AT_ONCE].copy()  # Arrow's are read-only: another type
            self._make_room(len(part))
            self.count = _number(part, self._ids, self._table, self.count, made[start:])
        return made

    def _make_room(self, more: int) -> None:
        needed = self.count + more
        if needed > len(self._ids):
            size = max(needed, len(self._ids) + len(self._ids) // 2)
            self._ids = np.concatenate(
                (self._ids[: self.count], np.empty(size - self.count, dtype=np.uint64))
            )
        if 2 * needed > len(self._table):
            size = len(self._table)
            while size < 2 * needed:
                size *= 2
            self._table = np.full(size, -1, dtype=np.int32)
            _fill(self._ids, self.count, self._table)


@compiled
def _place(wanted: np.uint64, ids: Ids, table: Numbers) -> np.int64:
    """Where the table holds `wanted`, or the free place where it belongs."""
    mask = len(table) - 1
    mixed = wanted * np.uint64(_SPREAD)
    place = np.int64((mixed ^ (mixed >> np.uint64(32))) & np.uint64(mask))
    while table[place] >= 0 and ids[table[place]] != wanted:
        place = (place + 1) & mask
    return place


@compiled
def _number(new: Ids, ids: Ids, table: Numbers, count: int, made: Numbers) -> int:
    """Fill `made` and return the new count."""
    before = -2
    for i in range(len(new)):
        # a prompt mostly goes on as it did when it was first seen: then no look-up is needed
        following = before + 1
        if 0 <= following < count and ids[following] == new[i]:
            before = following
        else:
            place = _place(new[i], ids, table)
            before = table[place]
            if before < 0:
                before = count
                ids[count] = new[i]
                table[place] = count
                count += 1
        made[i] = before
    return count


@compiled
def _fill(ids: Ids, count: int, table: Numbers) -> None:
    for number in range(count):
        table[_place(ids[number], ids, table)] = number
