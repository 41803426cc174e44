"""The block manager the slow and obvious way: lists, and whole prefixes instead of hashes."""

from collections.abc import Sequence


class SlowBlocks:
    """What each block holds is the tuple of all tokens from the first to its last."""

    def __init__(self, blocks: int, block_tokens: int) -> None:
        self.block_tokens = block_tokens
        self.free = list(range(1, blocks))
        self.holders = dict.fromkeys(self.free, 0)
        self.published: list[tuple[int, tuple[int, ...]]] = []  # oldest first

    def match(self, tokens: Sequence[int]) -> list[int]:
        """The blocks of the longest published run, the last token left out."""
        found: list[int] = []
        size = self.block_tokens
        while (len(found) + 1) * size < len(tokens):
            prefix = tuple(tokens[: (len(found) + 1) * size])
            holding = [block for block, content in self.published if content == prefix]
            if not holding:
                break
            found.append(holding[0])
        return found

    def start(self, tokens: Sequence[int]) -> list[int] | None:
        """Blocks for all of `tokens`, hits first; None if they do not fit."""
        size = self.block_tokens
        hits = self.match(tokens)
        needed = -(-len(tokens) // size) - len(hits)
        left = [block for block in self.free if block not in hits]
        if needed > len(left):
            return None
        new = left[:needed]
        self.free = left[needed:]
        self.published = [pair for pair in self.published if pair[0] not in new]
        blocks = hits + new
        for block in blocks:
            self.holders[block] += 1
        for number in range(len(hits), len(tokens) // size):
            self.published.append((blocks[number], tuple(tokens[: (number + 1) * size])))
        return blocks

    def end(self, blocks: Sequence[int]) -> None:
        """From the last block to the first; findable ones to the tail, others to the head."""
        for block in reversed(blocks):
            self.holders[block] -= 1
            if self.holders[block] == 0:
                findable = any(block == number for number, _ in self.published)
                self.free.insert(len(self.free) if findable else 0, block)
