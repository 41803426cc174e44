"""Hit ratios of a log as functions of capacity and lifetime.

Definition: a request hits the longest run of its leading blocks that are there when it arrives,
before its own touches. Then it touches all its blocks tail first (the head becomes the most
recent), those beyond the first miss included, and the cache is trimmed to its capacity. A partial
last block counts as a block; hit tokens = min(hit blocks x block size, prompt), the last token too.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from cachecast_datasets.errors import BadInput
from cachecast_datasets.prefix_blocks import PrefixBlocks
from cachecast_sim.curve.block_size import BlockSize, portions
from cachecast_sim.curve.measured import Count, Measured
from cachecast_sim.curve.sample import Sampler, estimate
from cachecast_sim.curve.world import World

Counts = npt.NDArray[np.int64]

AT_ONCE = 1 << 19  # blocks of a slice: what a step holds beside the state of each distinct block


@dataclass(frozen=True, slots=True)
class Ratios:
    """Hit ratios at one point; None where there is nothing to divide by, or lengths are unknown.

    The intervals are those of a sample, None if all blocks were followed; `hit_tokens` is exact
    then, and else rounded.
    """

    blocks: float | None
    tokens: float | None
    blocks_interval: tuple[float, float] | None = None
    tokens_interval: tuple[float, float] | None = None
    hit_tokens: int | None = None


class CurveBuilder:
    """Takes a log's requests in order of arrival and gives its curves.

    `fixed_lives_us` are the lifetimes without refresh that will be asked for; `sample` is the share
    of distinct blocks that are followed, None for all. Raises BadInput for both together.
    """

    def __init__(
        self, size: BlockSize, fixed_lives_us: Sequence[int] = (), sample: float | None = None
    ) -> None:
        if sample is not None and fixed_lives_us:
            raise BadInput(
                "--sample and --no-refresh: where no use prolongs a life a block can outlive the "
                "one before it, so a sample does not show where a run ends; leave one of them out"
            )
        self._size = size
        self._world = World(size, fixed_lives_us) if sample is None else None
        self._sampler = None if sample is None else Sampler(size, sample)
        self._requests = 0
        self._blocks = 0
        self._block_tokens = 0
        self._prompt_tokens: int | None = 0

    def add(self, requests: PrefixBlocks) -> None:
        """The next requests."""
        for part in portions(requests, max(1, AT_ONCE // self._size.parts)):
            merged = self._size.merged(part)
            missing = self._size.missing_tokens(merged)
            self._count(merged, missing)
            if self._world is not None:
                self._world.add(merged, missing)
            elif self._sampler is not None:
                self._sampler.add(merged, missing)

    def _count(self, requests: PrefixBlocks, missing: Counts) -> None:
        size = self._size
        self._requests += len(requests.arrival_us)
        whole = len(requests.ids) * size.parts
        self._blocks += whole - int((missing // size.tokens).sum())
        self._block_tokens += whole * size.tokens - int(missing.sum())
        if self._prompt_tokens is None or (requests.prompt_tokens < 0).any():
            self._prompt_tokens = None
        else:
            self._prompt_tokens += int(requests.prompt_tokens.sum())

    def curves(self) -> "Curves":
        """The curves of all requests so far. Raises BadInput where a sample cannot answer."""
        groups: list[Measured] = []
        if self._sampler is not None:
            found, groups = self._sampler.result()
            _check_sample(found, groups, self._sampler.rate)
        else:
            assert self._world is not None
            found = self._world.result()
        return Curves(
            found, groups, None if self._sampler is None else self._sampler.rate,
            self._requests, Count(self._blocks, self._block_tokens), self._prompt_tokens,
        )  # fmt: skip


def _check_sample(found: Measured, groups: Sequence[Measured], rate: float) -> None:
    if found.unchained:
        raise BadInput(
            f"--sample {rate:g}: in {found.unchained:,} requests a block is there without the one "
            "before it, so this log's ids do not name whole prefixes and a sample of blocks says "
            "nothing about runs; leave --sample out"
        )
    if any(not group.total.blocks for group in groups):
        raise BadInput(
            f"--sample {rate:g} leaves {found.total.blocks:,} blocks, too few to state an error; "
            "take a higher rate or leave --sample out"
        )


class Curves:
    """The hit ratio at any capacity and any lifetime, exact or estimated from a sample."""

    def __init__(
        self, found: Measured, groups: Sequence[Measured], rate: float | None, requests: int,
        total: Count, prompt_tokens: int | None,
    ) -> None:  # fmt: skip
        self._found = found
        self._groups = groups
        self.sample = rate
        self.requests = requests
        self._total = total
        self.prompt_tokens = prompt_tokens
        self.sampled_blocks = found.total.blocks
        self.unchained = found.unchained

    @property
    def block_tokens(self) -> int:
        """Tokens of a block."""
        return self._found.block_tokens

    @property
    def total_blocks(self) -> int:
        """All blocks of all requests, counted even where only a sample is followed."""
        return self._total.blocks

    @property
    def unique_blocks(self) -> int:
        """Distinct blocks: beyond this capacity nothing changes (an estimate from a sample)."""
        return round(self._found.distinct / (self.sample or 1))

    @property
    def ideal(self) -> Ratios:
        """Everything that was ever there is still there."""
        return self._ratios(lambda measured, rate: measured.at_capacity(measured.distinct))

    def at_capacity(self, blocks: int) -> Ratios:
        """An LRU of so many blocks."""
        return self._ratios(lambda measured, rate: measured.at_capacity(_scaled(blocks, rate)))

    def at_ttl(self, ttl_us: int, refresh: bool = True) -> Ratios:
        """No limit but a lifetime, from the last use (`refresh`) or from the write."""
        return self._ratios(lambda measured, rate: measured.at_ttl(ttl_us, refresh))

    def capacity_for(self, share: Fraction) -> int | None:
        """The least capacity with at least `share` of the ideal's hit blocks; None without hits."""
        wanted = self._hits_for(share)
        if wanted is None:
            return None
        place = int(np.searchsorted(self._found.capacity_blocks, wanted))
        return place if self.sample is None else math.ceil((place - 1) / self.sample) + 1

    def ttl_for(self, share: Fraction) -> int | None:
        """The least lifetime (µs, with refresh) with at least `share` of the ideal's hit blocks."""
        wanted = self._hits_for(share)
        if wanted is None:
            return None
        return int(self._found.ages_us[np.searchsorted(self._found.age_blocks, wanted)])

    def _hits_for(self, share: Fraction) -> int | None:
        """How many of the followed blocks must be hits for `share` of the ideal; None without."""
        seen, most = self._found.total.blocks, int(self._found.capacity_blocks[-1])
        if not most:
            return None
        rate = Fraction(self.sample or 1)
        hits = self.total_blocks - (seen - most) / rate  # in the whole log, as `_pair` scales
        wanted = seen - rate * (self.total_blocks - share * hits)
        return min(max(math.ceil(wanted), 1), most)

    def _ratios(self, hits: Callable[[Measured, float], Count]) -> Ratios:
        rate = self.sample or 1.0
        values = self._pair(self._found, hits, rate)
        if not self._groups:
            missed = self._found.total.tokens - hits(self._found, rate).tokens
            known = self.prompt_tokens is not None
            return Ratios(*values, hit_tokens=self._total.tokens - missed if known else None)
        pairs = [self._pair(group, hits, rate / len(self._groups)) for group in self._groups]
        blocks, tokens = (
            None if value is None else estimate(value, [p for p in column if p is not None])
            for value, column in zip(values, zip(*pairs, strict=True), strict=True)
        )
        return Ratios(
            None if blocks is None else blocks.value,
            None if tokens is None else tokens.value,
            None if blocks is None else (blocks.low, blocks.high),
            None if tokens is None else (tokens.low, tokens.high),
            None if tokens is None else round(tokens.value * (self.prompt_tokens or 0)),
        )

    def _pair(
        self, measured: Measured, hits: Callable[[Measured, float], Count], rate: float
    ) -> tuple[float | None, float | None]:
        """(block, token) hit ratio. A sample's misses stand for 1 / rate as many.

        Not its hits: how many blocks there are in all is known, and a block is missed a few times,
        but a common one is hit in every request, so that being drawn or not would decide.
        """
        seen, found, total = measured.total, hits(measured, rate), self._total
        missed_blocks = (seen.blocks - found.blocks) / rate
        missed_tokens = (seen.tokens - found.tokens) / rate
        blocks = (total.blocks - missed_blocks) / total.blocks if total.blocks else None
        if not self.prompt_tokens:
            return blocks, None
        return blocks, (total.tokens - missed_tokens) / self.prompt_tokens


def _scaled(blocks: int, rate: float) -> float:
    """The place in a sample's list that stands for the place `blocks` in the whole one.

    A block counts itself in both; of the others before it the sample has `rate` of them.
    """
    return blocks if rate == 1 or blocks <= 0 else (blocks - 1) * rate + 1
