"""What one pass found, as functions of capacity and lifetime."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Count:
    """Some blocks and how many tokens they hold."""

    blocks: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Measured:
    """Hits in cumulative steps; `…_missing` are the tokens by which hit last blocks fall short.

    `unchained` counts requests whose ids cannot name whole prefixes: a block was there although the
    one before it was not, or was used more recently.
    """

    block_tokens: int
    total: Count
    unchained: int
    capacity_blocks: Counts  # index = capacity, from 0 to the number of distinct blocks
    capacity_missing: Counts
    ages_us: Counts  # rising
    age_blocks: Counts
    age_missing: Counts
    fixed: dict[int, tuple[int, int]]  # lifetime without refresh in µs -> (blocks, missing)

    @property
    def distinct(self) -> int:
        """How many different blocks there were."""
        return len(self.capacity_blocks) - 1

    def at_capacity(self, blocks: float) -> Count:
        """Hits of an LRU that holds so many blocks."""
        index = min(max(int(blocks), 0), self.distinct)
        return self._count(self.capacity_blocks[index], self.capacity_missing[index])

    def at_ttl(self, ttl_us: int, refresh: bool) -> Count:
        """Hits with this lifetime; without refresh it must be one of `fixed`."""
        if not refresh:
            return self._count(*self.fixed[ttl_us])
        index = int(np.searchsorted(self.ages_us, ttl_us, side="right")) - 1
        if index < 0:
            return Count(0, 0)
        return self._count(self.age_blocks[index], self.age_missing[index])

    def _count(self, blocks: int, missing: int) -> Count:
        return Count(int(blocks), int(blocks) * self.block_tokens - int(missing))
