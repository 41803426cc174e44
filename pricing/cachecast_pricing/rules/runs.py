"""A prompt as a sequence of chained hashes, for the families that look at runs of blocks."""

from cachecast_datasets.request import Request
from cachecast_pricing.rules.prompt import Prompt


class Runs:
    """`hashes[i]` is the chained hash after position i, `tokens_at(i + 1)` its prefix length.

    Token blocks where the log has them, else the ends of the content blocks; on the latter a
    common part inside two different blocks cannot be seen, so shared runs are lower bounds.
    """

    __slots__ = ("_ends", "_size", "_total", "hashes")

    def __init__(self, prompt: Prompt, request: Request) -> None:
        self._size = 0
        self._total = prompt.total
        self._ends = prompt.tokens
        if request.token_blocks is not None and request.token_block_size:
            self.hashes: list[int] = request.token_blocks.tolist()
            self._size = request.token_block_size
        else:
            self.hashes = list(prompt.hashes)
        if prompt.keys is not prompt.hashes and prompt.keys:
            salt = prompt.keys[0] ^ prompt.hashes[0]
            self.hashes = [h ^ salt for h in self.hashes]

    def tokens_at(self, count: int) -> int:
        """Tokens of the first `count` positions."""
        if count == 0:
            return 0
        if self._size:
            return min(count * self._size, self._total)
        return self._ends[count - 1]

    @property
    def limit(self) -> int:
        """Tokens of the longest prefix that has a hash."""
        return self.tokens_at(len(self.hashes))
