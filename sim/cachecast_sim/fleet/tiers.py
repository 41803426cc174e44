"""Tiers below the GPU: CPU memory, a disk, a store that servers share. Block by block.

A tier is read from where the GPU's run of cached blocks ends; what was found there is loaded over
the tier's link while others compute. Writes cost no time of the engine: they run beside it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from cachecast_sim.fleet.links import Link
from cachecast_sim.fleet.prefixes import Path, Segment

Key = tuple[Segment, int]  # one block: its segment and its position


class EvictionOrder(Protocol):
    """Which block of a full tier goes first."""

    def add(self, key: Key, now_ns: int) -> None: ...
    def touch(self, key: Key, now_ns: int) -> None: ...
    def drop(self, key: Key) -> None: ...
    def victim(self, now_ns: int) -> Key: ...


@dataclass(slots=True)
class Stored:
    """When a block was written and last used."""

    written_ns: int
    used_ns: int


class Tier:
    """One tier of one server, or one that several share.

    `ttl_ns`: a block is alive while now - last use <= ttl (`expires_from_write`: its write).
    `write_through`: blocks come in when they are full on the GPU, else when it evicts them.
    """

    def __init__(
        self, name: str, capacity_blocks: int, link: Link, order: EvictionOrder, *,
        write_through: bool, ttl_ns: int | None = None, expires_from_write: bool = False,
    ) -> None:  # fmt: skip
        self.name = name
        self.capacity_blocks = capacity_blocks
        self.link = link
        self.write_through = write_through
        self.read_blocks = self.written_blocks = self.evicted_blocks = 0
        self._order = order
        self._ttl_ns = ttl_ns
        self._from_write = expires_from_write
        self._stored: dict[Key, Stored] = {}

    def __len__(self) -> int:
        return len(self._stored)

    def holds(self, key: Key, now_ns: int) -> bool:
        """Whether the block is there and alive; one that is not alive any more goes."""
        stored = self._stored.get(key)
        if stored is None:
            return False
        since = stored.written_ns if self._from_write else stored.used_ns
        if self._ttl_ns is not None and now_ns - since > self._ttl_ns:
            self._drop(key)
            return False
        return True

    def use(self, key: Key, now_ns: int) -> None:
        """The block is needed now, here or above."""
        stored = self._stored.get(key)
        if stored is not None:
            stored.used_ns = now_ns
            self._order.touch(key, now_ns)

    def put(self, key: Key, now_ns: int) -> Key | None:
        """Store the block; the one that had to go for it."""
        if self.holds(key, now_ns):
            self.use(key, now_ns)
            return None
        gone = None
        if len(self._stored) >= self.capacity_blocks:
            gone = self._order.victim(now_ns)
            self._drop(gone)
            self.evicted_blocks += 1
        self._stored[key] = Stored(now_ns, now_ns)
        self._order.add(key, now_ns)
        self.written_blocks += 1
        return gone

    def _drop(self, key: Key) -> None:
        del self._stored[key]
        self._order.drop(key)


class TierStack:
    """The tiers of one server, the nearest first. `block_bytes` is the KV size of a block.

    `now_ns` is kept by the server, for what happens inside its pool.
    """

    def __init__(self, tiers: Sequence[Tier], block_bytes: int) -> None:
        self.tiers = tiers
        self.block_bytes = block_bytes
        self.now_ns = 0

    def load(self, path: Path, low: int, limit: int, now_ns: int) -> tuple[int, int]:
        """(blocks, when they are there): the run from block `low` on that the tiers hold."""
        counts = [0] * len(self.tiers)
        at = low
        for key in blocks_of(path, low, limit):
            number = next((n for n, t in enumerate(self.tiers) if t.holds(key, now_ns)), None)
            if number is None:
                break
            counts[number] += 1
            at += 1
        ready_ns = now_ns
        for tier, count in zip(self.tiers, counts, strict=True):
            if count:
                tier.read_blocks += count
                ready_ns = max(ready_ns, tier.link.send(count * self.block_bytes, now_ns))
        for key in blocks_of(path, 0, limit):  # also what the GPU holds, or what lies behind a gap
            for tier in self.tiers:
                tier.use(key, now_ns)
        return at - low, ready_ns

    def filled(self, path: Path, low: int, high: int) -> None:
        """Blocks [low, high) of a path got their hashes on the GPU."""
        now_ns = self.now_ns
        for number, tier in enumerate(self.tiers):
            if tier.write_through:
                for key in blocks_of(path, low, high):
                    self._put(number, key, now_ns)

    def evicted(self, segment: Segment, low: int, high: int) -> None:
        """The GPU has evicted blocks of a segment, the last first."""
        now_ns = self.now_ns
        for position in range(high - 1, low - 1, -1):
            self._put_below(0, (segment, position), now_ns)

    def _put_below(self, number: int, key: Key, now_ns: int) -> None:
        """Into the first tier from `number` on that takes what is evicted above it."""
        for below in range(number, len(self.tiers)):
            if not self.tiers[below].write_through:
                self._put(below, key, now_ns)
                return

    def _put(self, number: int, key: Key, now_ns: int) -> None:
        gone = self.tiers[number].put(key, now_ns)
        if gone is not None:
            self._put_below(number + 1, gone, now_ns)


def blocks_of(path: Path, low: int, high: int) -> list[Key]:
    """The blocks [low, high) of a path."""
    return [
        (segment, position)
        for segment, start, end in path
        if end > low and start < high
        for position in range(max(start, low), min(end, high))
    ]
