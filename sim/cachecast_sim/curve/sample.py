"""A sample of blocks instead of all, with the error that this brings.

A block is in the sample if a hash of its id is below a threshold, so all its uses are in it or none
(SHARDS: Waldspurger et al., FAST 2015, with its correction for the known number of references).
Places in the LRU list then count the sampled blocks alone and stand for 1 / rate as many. Prefix
runs stay whole although blocks between are missing, because of the chain: a request touches every
block in front of the one it touches, so a block is never more recent, nor alive longer, than the
one before it; if it is there, the whole run before it is. (That is why blocks are drawn and not
sessions or first blocks: in a log where all share a system prompt there is one first block.)
`Measured.unchained` tells where ids are not chained. Without refresh a block can outlive the one
before it, so that a sample cannot say where a run ends.

The error is measured, not derived, since blocks of a prompt are hit together: the sample is GROUPS
samples, each with a world of its own, and the interval comes from how far apart these are.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cachecast_datasets.prefix_blocks import PrefixBlocks
from cachecast_sim.curve.block_size import BlockSize
from cachecast_sim.curve.measured import Measured
from cachecast_sim.curve.numbering import Ids
from cachecast_sim.curve.world import World

Counts = npt.NDArray[np.int64]

GROUPS = 16
STUDENT_T = 2.131  # two-sided 95 % of Student's t with GROUPS - 1 = 15 degrees of freedom


class Sampler:
    """The sampled blocks in one world, and each of its groups in one of its own."""

    def __init__(self, size: BlockSize, rate: float) -> None:
        self.rate = rate
        self._all = World(size)
        self._groups = [World(size) for _ in range(GROUPS)]

    def add(self, requests: PrefixBlocks, missing: Counts) -> None:
        """Requests in order of arrival, with all their blocks."""
        drawn = _mixed(requests.ids)
        chosen = drawn < np.uint64(min(round(self.rate * 2**64), 2**64 - 1))
        group = drawn % np.uint64(GROUPS)
        self._all.add(*_only(requests, missing, chosen))
        for number, world in enumerate(self._groups):
            world.add(*_only(requests, missing, chosen & (group == number)))

    def result(self) -> tuple[Measured, list[Measured]]:
        """(all sampled blocks, each group)."""
        return self._all.result(), [world.result() for world in self._groups]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A ratio from a sample and its 95 % interval."""

    value: float
    low: float
    high: float


def estimate(value: float, groups: Sequence[float]) -> Estimate:
    """`value` with the interval that the groups' own values give it."""
    mean = math.fsum(groups) / len(groups)
    spread = math.fsum((group - mean) ** 2 for group in groups) / (len(groups) - 1)
    half = STUDENT_T * math.sqrt(spread / len(groups))
    return Estimate(_share(value), _share(value - half), _share(value + half))


def _share(value: float) -> float:
    """An estimate can leave [0, 1]; the truth cannot."""
    return min(max(value, 0.0), 1.0)


def _mixed(ids: Ids) -> Ids:
    """Random bits of each id (the finaliser of SplitMix64; Steele, Lea, Flood 2014)."""
    mixed = ids + np.uint64(0x9E37_79B9_7F4A_7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58_476D_1CE4_E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D0_49BB_1331_11EB)
    return mixed ^ (mixed >> np.uint64(31))


def _only(
    requests: PrefixBlocks, missing: Counts, chosen: npt.NDArray[np.bool_]
) -> tuple[PrefixBlocks, Counts]:
    """The chosen blocks; what the last one misses stays only if it was chosen."""
    before = np.concatenate(([0], np.cumsum(chosen)))
    last = requests.offsets[1:] - 1
    kept = (np.diff(requests.offsets) > 0) & chosen[np.maximum(last, 0)] if len(chosen) else False
    made = PrefixBlocks(
        requests.arrival_us, before[requests.offsets], requests.ids[chosen], requests.prompt_tokens
    )
    return made, np.where(kept, missing, 0)
