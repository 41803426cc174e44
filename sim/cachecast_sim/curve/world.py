"""One pass over requests: every capacity, every lifetime with refresh, some without."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from cachecast_datasets.errors import BadInput
from cachecast_datasets.prefix_blocks import PrefixBlocks
from cachecast_sim.curve.ages import UseAges
from cachecast_sim.curve.block_size import BlockSize
from cachecast_sim.curve.measured import Count, Measured
from cachecast_sim.curve.numbering import BlockNumbers
from cachecast_sim.curve.recency import RecencyList
from cachecast_sim.curve.writes import FixedLives

Counts = npt.NDArray[np.int64]

MOST_BLOCKS = 1 << 25  # distinct blocks that are followed one by one: about 3 GiB


class World:
    """Sees every block of every request, or a sample of them."""

    def __init__(self, size: BlockSize, fixed_lives_us: Sequence[int] = ()) -> None:
        self._size = size
        self._numbers = BlockNumbers()
        self._recency = RecencyList()
        self._ages = UseAges()
        self._fixed = FixedLives(fixed_lives_us)
        self._total_blocks = 0
        self._total_missing = 0

    def add(self, requests: PrefixBlocks, missing: Counts) -> None:
        """Requests in order of arrival.

        `missing` = tokens by which each one's last block falls short of a whole one. Raises
        BadInput if the distinct blocks become too many for the memory.
        """
        size = self._size
        numbers = self._numbers.of(requests.ids)
        distinct = self._numbers.count * size.parts
        if distinct > MOST_BLOCKS:
            raise BadInput(
                f"the log has more than {MOST_BLOCKS:,} distinct blocks of {size.tokens} tokens, "
                "too many to follow each; --sample 0.1 follows one in ten and states the error"
            )
        numbers, offsets = size.split(numbers, requests.offsets, missing)
        missing = missing % size.tokens
        self._recency.add(numbers, offsets, missing, distinct)
        self._ages.add(requests.arrival_us, numbers, offsets, missing, distinct)
        if self._fixed.lives_us:
            self._fixed.add(requests.arrival_us, numbers, offsets, missing, distinct)
        self._total_blocks += len(numbers)
        self._total_missing += int(missing.sum())

    def result(self) -> Measured:
        """What was found so far."""
        blocks, missing = self._recency.histograms()
        ages_us, age_blocks, age_missing = self._ages.steps()
        total = self._total_blocks
        return Measured(
            block_tokens=self._size.tokens,
            total=Count(total, total * self._size.tokens - self._total_missing),
            unchained=self._recency.unchained,
            capacity_blocks=np.cumsum(blocks),
            capacity_missing=np.cumsum(missing),
            ages_us=ages_us,
            age_blocks=np.cumsum(age_blocks),
            age_missing=np.cumsum(age_missing),
            fixed={life: self._fixed.hits(life) for life in self._fixed.lives_us},
        )
