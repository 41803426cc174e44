"""The block pool in runs of blocks against the slow one of single blocks, step by step."""

from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise
from random import Random

import pytest
from fleet_oracle import Block, Key, SlowPool
from fleet_runs import extents_in, queue_of
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from cachecast_sim.fleet.extents import Extent, Holding
from cachecast_sim.fleet.prefixes import ENDLESS, Path, PrefixTree, Segment
from cachecast_sim.fleet.vllm.pool import BlockPool


@dataclass(eq=False, slots=True)
class User:
    """A job as far as a pool knows it: the same in both pools."""

    path: Path
    held: list[Holding]
    blocks: list[Block]
    filled: int

    @property
    def unfilled(self) -> int:
        return len(self.blocks) - self.filled


@dataclass(slots=True)
class Prompts:
    """Prompts over one tree: every prefix of ids has its own id, as in a log."""

    tree: PrefixTree = field(default_factory=PrefixTree)
    numbers: dict[tuple[int, ...], int] = field(default_factory=dict)

    def path(self, tokens: tuple[int, ...]) -> Path:
        prefixes = [tokens[: end + 1] for end in range(len(tokens))]
        ids = [self.numbers.setdefault(prefix, len(self.numbers) + 1) for prefix in prefixes]
        path, _ = self.tree.enter(ids)
        return [*path, (Segment(len(ids)), len(ids), ENDLESS)]


def keys_of(path: Path, low: int, high: int) -> list[Key]:
    """The keys of a path's blocks; a block's own segment and position name it in both pools."""
    return [
        (segment, at)
        for segment, start, end in path
        for at in range(max(start, low), min(end, high))
    ]


# mostly prefixes of one another, so that a few operations make copies of a block
PROMPTS = st.integers(0, 9).map(lambda n: (0,) * n) | st.lists(st.integers(0, 1), max_size=9).map(
    tuple
)


def pairwise_back(keys: list[Key]) -> dict[Key, Key]:
    return {after: before for before, after in pairwise(keys)}


def parts_of(holding: Holding) -> list[Extent]:
    """The extents that a holding leads to, the highest first: they cover it exactly."""
    extent, low, high = holding
    parts = [extent]
    while parts[-1].low > low:
        lower = parts[-1].lower
        assert lower is not None
        parts.append(lower)
    ends = [high, *(part.low for part in parts)]
    assert [part.high for part in parts] == ends[:-1]
    assert ends[-1] == low
    return parts


class BothPools(RuleBasedStateMachine):
    USABLE = 12

    def __init__(self) -> None:
        super().__init__()
        self.evicted: list[Key] = []
        self.pool = BlockPool(self.USABLE, self._evict)
        self.slow = SlowPool(self.USABLE)
        self.prompts = Prompts()
        self.users: list[User] = []
        self.before: dict[Key, Key] = {}  # the block before a block
        self.now_ns = 0

    def _evict(self, segment: Segment, low: int, high: int) -> None:
        self.evicted += [(segment, at) for at in reversed(range(low, high))]

    @rule(
        tokens=PROMPTS,
        limit=st.integers(0, 10),
        new=st.integers(0, 5),
        full=st.integers(0, 5),
    )
    def admit(self, tokens: tuple[int, ...], limit: int, new: int, full: int) -> None:
        """Look up, check, touch and take, as a scheduler does; without room it changes nothing."""
        path = self.prompts.path(tokens)
        self.before |= pairwise_back(keys_of(path, 0, len(tokens) + 10))
        found, hits, free = self.pool.find(path, limit)
        blocks = self.slow.find(keys_of(path, 0, limit))
        assert hits == len(blocks)
        assert free == sum(block.users == 0 for block in blocks)
        if new + free > len(self.slow.free):
            return
        self.slow.touch(blocks)
        user = User(path, self.pool.touch(found), blocks, len(blocks))
        self.users.append(user)
        self.pool.take(new)
        user.blocks = blocks + self.slow.take(new)
        self._fill(user, min(full, new))

    @precondition(lambda self: self.users)
    @rule(which=st.integers(0, 20), count=st.integers(1, 4))
    def take(self, which: int, count: int) -> None:
        """Some user gets blocks that it has not filled yet."""
        user = self.users[which % len(self.users)]
        count = min(count, len(self.slow.free))
        self.pool.take(count)
        user.blocks += self.slow.take(count)

    @precondition(lambda self: any(user.unfilled for user in self.users))
    @rule(which=st.integers(0, 20), count=st.integers(1, 4))
    def fill(self, which: int, count: int) -> None:
        """Some user fills its next blocks."""
        ready = [user for user in self.users if user.unfilled]
        user = ready[which % len(ready)]
        self._fill(user, min(count, user.unfilled))

    def _fill(self, user: User, count: int) -> None:
        if not count:
            return
        low = user.filled
        high = user.filled = low + count
        self.pool.fill(user.held, user.path, low, high)
        for block, key in zip(user.blocks[low:high], keys_of(user.path, low, high), strict=True):
            self.slow.fill(block, key)

    @precondition(lambda self: self.users)
    @rule(which=st.integers(0, 20), later=st.integers(0, 2))
    def release(self, which: int, later: int) -> None:
        self.now_ns += later
        user = self.users.pop(which % len(self.users))
        self.pool.release(user.held, user.unfilled, self.now_ns)
        self.slow.release(user.blocks, self.now_ns)

    @rule(age=st.integers(0, 4))
    def expire(self, age: int) -> None:
        self.pool.expire(self.now_ns - age)
        self.slow.expire(self.now_ns - age)

    @rule()
    def clear(self) -> None:
        """Row 23: a reset works while nobody holds blocks, and changes nothing otherwise."""
        held = self.USABLE - len(self.slow.free)
        if held:
            with pytest.raises(RuntimeError, match=f"^block pool: {held} blocks are held"):
                self.pool.clear()
            return
        self.pool.clear()
        self.slow.expire(1 << 62)
        assert self.pool.unhashed == self.USABLE

    @invariant()
    def every_block_is_somewhere(self) -> None:
        unfilled = sum(user.unfilled for user in self.users)
        shared = sum(part.high - part.low for part in self._held_extents())
        assert self.pool.unhashed + self.pool.queue.blocks + unfilled + shared == self.USABLE
        assert self.pool.free_blocks == len(self.slow.free)

    @invariant()
    def the_free_queue_is_the_slow_one(self) -> None:
        keys = [block.key for block in self.slow.free]
        assert [None] * self.pool.unhashed + queue_of(self.pool) == keys
        assert self.pool.queue.blocks == len(queue_of(self.pool))
        assert self.evicted == self.slow.evicted
        assert self.pool.evicted_blocks == len(self.evicted)

    @invariant()
    def users_are_those_who_hold(self) -> None:
        """Each extent counts its holders; the free queue has exactly those that nobody holds."""
        holders = self._held_extents()
        queued = extents_in(self.pool)
        everything = [extent for extents in self._residences().values() for extent in extents]
        assert len(set(everything)) == len(everything)
        for extent in everything:
            assert extent.low < extent.high
            assert extent.users == holders[extent]
            assert (extent in queued) == (extent.users == 0)
        assert set(everything) == set(holders) | set(queued)

    @invariant()
    def the_copies_of_each_block_are_in_the_order_of_their_age(self) -> None:
        found: dict[Key, list[int]] = {}
        for segment, extents in self._residences().items():
            for extent in extents:
                for at in range(extent.low, extent.high):
                    found.setdefault((segment, at), []).append(extent.users)
        copies = {key: [b.users for b in blocks] for key, blocks in self.slow.cached.items()}
        assert found == copies

    @invariant()
    def no_block_outlives_the_one_before_it(self) -> None:
        """Known faults 5 and 14: then a chain can have no hole, and its tail is what is missing."""
        cached = self.slow.cached
        assert all(self.before[key] in cached for key in cached if key in self.before)

    @invariant()
    def it_knows_what_it_ever_held(self) -> None:
        for user in self.users:
            for segment, low, high in user.path[:-1]:
                ever = [at for at in range(low, high) if (segment, at) in self.slow.ever]
                assert ever == list(range(low, min(high, self.pool.computed_to(segment))))

    def check_all(self) -> None:
        self.every_block_is_somewhere()
        self.the_free_queue_is_the_slow_one()
        self.users_are_those_who_hold()
        self.the_copies_of_each_block_are_in_the_order_of_their_age()
        self.no_block_outlives_the_one_before_it()
        self.it_knows_what_it_ever_held()

    def _held_extents(self) -> "Counter[Extent]":
        """How many users hold each extent."""
        holdings = [holding for user in self.users for holding in user.held]
        return Counter(part for holding in holdings for part in parts_of(holding))

    def _residences(self) -> dict[Segment, list[Extent]]:
        return {s: residence.extents for s, residence in self.pool._residences.items()}


BothPools.TestCase.settings = settings(max_examples=120, stateful_step_count=40)
TestBothPools = BothPools.TestCase


@pytest.mark.parametrize("seed", range(60))
def test_long_walks_on_a_crowded_pool(seed: int) -> None:
    """The same operations and checks, 150 in a row: states that short sequences seldom reach."""
    rng, pools = Random(seed), BothPools()
    for _ in range(150):
        choice = rng.random()
        if choice < 0.45 or not pools.users:
            tokens = (
                (0,) * rng.randint(0, 9) if rng.random() < 0.7 else (0, 1, rng.randint(0, 1), 0)
            )
            pools.admit(tokens, rng.randint(0, 10), rng.randint(0, 5), rng.randint(0, 5))
        elif choice < 0.55 and any(user.unfilled for user in pools.users):
            pools.fill(rng.randint(0, 20), rng.randint(1, 4))
        elif choice < 0.65:
            pools.take(rng.randint(0, 20), rng.randint(1, 2))
        elif choice < 0.9:
            pools.release(rng.randint(0, 20), rng.randint(0, 1))
        else:
            pools.expire(rng.randint(1, 6))
        pools.check_all()
