"""Which token blocks hold what: reference counts, the order of reuse, and look-up by content.

Written from the facts about vLLM 0.32.0 (serving-semantics §1a rules 5-16, read 2026-11) and not
from the simulator, which it is there to check. A block is a number; K and V live in `kv_cache`.
"""

from collections import OrderedDict
from collections.abc import Callable, Sequence

import xxhash

from cachecast_replay.engine.errors import EngineError

NULL_BLOCK = 0  # never handed out, so one block of the pool is not usable
ROOT = 0x5EED_0F_7E_B10C_0001  # the parent hash of every first block
TOKEN_BYTES = 4

HashBlock = Callable[[int, bytes], int]


def hash_block(parent: int, tokens: bytes) -> int:
    """xxHash64 of a full block's token ids (int32 bytes) after everything that `parent` names."""
    return xxhash.xxh64_intdigest(tokens, seed=parent)


class Prefix:
    """A full block's tokens and, through `parent`, all tokens before it: what a hash stands for."""

    __slots__ = ("parent", "tokens")

    def __init__(self, parent: "Prefix | None", tokens: bytes) -> None:
        self.parent = parent
        self.tokens = tokens


class BlockManager:
    """A pool of `blocks` token blocks, one of them the null block.

    A free block stays findable until it is handed out again: taking a block from the head of the
    free list is the only eviction.
    """

    def __init__(self, blocks: int, block_tokens: int, hash_block: HashBlock = hash_block) -> None:
        if blocks < 2:
            raise EngineError(f"blocks is {blocks}, expected >= 2 (one is the null block)")
        if block_tokens < 1:
            raise EngineError(f"block_tokens is {block_tokens}, expected >= 1")
        self.block_tokens = block_tokens
        self.usable_blocks = blocks - 1
        self.evicted_blocks = 0
        self._hash_block = hash_block
        self._references = [0] * blocks
        # head = reused next; a dict with an order, so that a hit takes a block out of the middle
        self._free: OrderedDict[int, None] = OrderedDict.fromkeys(range(1, blocks))
        self._hashes: list[int | None] = [None] * blocks
        self._prefixes: list[Prefix | None] = [None] * blocks
        # hash -> the blocks published under it, oldest first (duplicates, or a collision)
        self._published: dict[int, dict[int, None]] = {}

    @property
    def free_blocks(self) -> int:
        """Blocks that no request holds, whether their content can still be found or not."""
        return len(self._free)

    def hashes_of(self, tokens: bytes, known: Sequence[int] = ()) -> list[int]:
        """The hashes of the full blocks of `tokens` behind the `known` ones, chained to them."""
        size = self.block_tokens * TOKEN_BYTES
        parent = known[-1] if known else ROOT
        found = []
        for start in range(len(known) * size, len(tokens) - size + 1, size):
            parent = self._hash_block(parent, tokens[start : start + size])
            found.append(parent)
        return found

    def match(self, hashes: Sequence[int], tokens: bytes, most: int) -> list[int]:
        """The blocks that hold the longest run of full blocks at the front of `tokens`.

        At most `most` blocks. Nothing changes: `take` comes later, when the request fits. A hash
        only proposes a block; its tokens and those of all blocks before it decide, so that a
        collision costs a hit and never serves the K and V of another prompt.
        """
        size = self.block_tokens * TOKEN_BYTES
        found: list[int] = []
        parent: Prefix | None = None
        for number, wanted in enumerate(hashes[:most]):
            content = tokens[number * size : (number + 1) * size]
            for block in self._published.get(wanted, ()):
                prefix = self._prefixes[block]
                assert prefix is not None
                if prefix.tokens == content and _same(prefix.parent, parent):
                    found.append(block)
                    parent = prefix
                    break
            else:
                break
        return found

    def unreferenced(self, blocks: Sequence[int]) -> int:
        """How many of `blocks` are on the free list: taking those uses up free blocks, too."""
        return sum(not self._references[block] for block in blocks)

    def take(self, blocks: Sequence[int]) -> None:
        """One more holder for each of `blocks` (found by `match`)."""
        for block in blocks:
            if not self._references[block]:
                del self._free[block]
            self._references[block] += 1

    def allocate(self, count: int) -> list[int]:
        """`count` blocks from the head of the free list; what they held is forgotten now."""
        assert count <= len(self._free), f"{count} blocks asked for, {len(self._free)} free"
        taken = [self._free.popitem(last=False)[0] for _ in range(count)]
        for block in taken:
            self._references[block] = 1
            self._forget(block)
        return taken

    def publish(self, block: int, hash_: int, tokens: bytes, parent: int | None) -> None:
        """Let later requests find `block`, which will hold `tokens` behind the block `parent`.

        Called while a step is scheduled, before its K and V exist: whoever finds the block in the
        same step runs in the same forward pass, which writes before it reads.
        """
        assert self._references[block], f"block {block} has no holder"
        assert self._hashes[block] is None, f"block {block} is published already"
        before = None if parent is None else self._prefixes[parent]
        assert parent is None or before is not None, f"block {parent} was never published"
        self._hashes[block] = hash_
        self._prefixes[block] = Prefix(before, tokens)
        self._published.setdefault(hash_, {})[block] = None

    def release(self, blocks: Sequence[int]) -> None:
        """One holder less for a request's `blocks`, given in the order of its tokens.

        From the last to the first: blocks that can be found go to the tail of the free list, so
        the end of a prompt is evicted before its front; the others go to the head and are reused
        first (rule 14).
        """
        for block in reversed(blocks):
            self._references[block] -= 1
            assert self._references[block] >= 0, f"block {block} was released twice"
            if self._references[block]:
                continue
            self._free[block] = None
            if self._hashes[block] is None:
                self._free.move_to_end(block, last=False)

    def _forget(self, block: int) -> None:
        hash_ = self._hashes[block]
        if hash_ is None:
            return
        self.evicted_blocks += 1
        self._hashes[block] = self._prefixes[block] = None
        holders = self._published[hash_]
        del holders[block]
        if not holders:
            del self._published[hash_]


def _same(one: Prefix | None, other: Prefix | None) -> bool:
    """Whether both stand for the same tokens from the first on.

    They are nearly always one object; two chains meet again soon after a block that was evicted
    and computed anew.
    """
    while one is not other:
        if one is None or other is None or one.tokens != other.tokens:
            return False
        one, other = one.parent, other.parent
    return True
