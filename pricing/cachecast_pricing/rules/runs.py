"""A prompt as a sequence of chained hashes, for the families that look at runs of blocks."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from cachecast_datasets.request import Request
from cachecast_pricing.rules.prompt import Prompt

_FIRST_CHUNK = 32


class Runs:
    """Chained hashes after each position of a prompt, `tokens_at(i)` the length of the first i.

    Token blocks where the log has them, else the ends of the content blocks; on the latter a
    common part inside two different blocks cannot be seen, so shared runs are lower bounds.
    Hashes become Python ints only where they are looked at: mostly the new ones at the end.
    """

    __slots__ = ("_at", "_ends", "_hashes", "_size", "_total", "count")

    def __init__(self, prompt: Prompt, request: Request) -> None:
        self._size = 0
        self._total = prompt.total
        self._ends = prompt.tokens
        self._hashes: npt.NDArray[np.uint64] | list[int]
        salt = 0
        if prompt.keys is not prompt.hashes and prompt.keys:
            salt = prompt.keys[0] ^ prompt.hashes[0]
        if request.token_blocks is not None and request.token_block_size:
            blocks = request.token_blocks
            self._hashes = blocks ^ np.uint64(salt) if salt else blocks
            self._size = request.token_block_size
        else:
            self._hashes = [h ^ salt for h in prompt.hashes] if salt else prompt.hashes
        self.count = len(self._hashes)
        hashes = self._hashes
        self._at = hashes.__getitem__ if isinstance(hashes, list) else hashes.item

    def tokens_at(self, count: int) -> int:
        """Tokens of the first `count` positions."""
        if count == 0:
            return 0
        if self._size:
            length = count * self._size
            return length if length < self._total else self._total
        return self._ends[count - 1]

    @property
    def limit(self) -> int:
        """Tokens of the longest prefix that has a hash."""
        return self.tokens_at(self.count)

    def hash_at(self, count: int) -> int:
        """The hash of the first `count` positions (at least one)."""
        return self._at(count - 1)

    def between(self, start: int, end: int) -> list[int]:
        """The hashes of positions `start <= i < end`."""
        part = self._hashes[start:end]
        return part if isinstance(part, list) else part.tolist()

    def backwards(self, end: int) -> Iterator[tuple[int, int]]:
        """(count, hash) of every prefix, from the first `end` positions down to one."""
        size = _FIRST_CHUNK
        while end > 0:
            start = max(0, end - size)
            chunk = self.between(start, end)
            for offset in range(end - start - 1, -1, -1):
                yield start + offset + 1, chunk[offset]
            end, size = start, size * 4
