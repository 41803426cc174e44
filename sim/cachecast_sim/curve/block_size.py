"""Token blocks in another size than the log's, and requests in portions."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from cachecast_datasets.errors import BadInput
from cachecast_datasets.prefix_blocks import PrefixBlocks
from cachecast_sim.curve.numbering import Numbers

Counts = npt.NDArray[np.int64]


def portions(requests: PrefixBlocks, most_blocks: int) -> Iterator[PrefixBlocks]:
    """The same requests in turn, at most `most_blocks` blocks at once (or one request)."""
    start, count = 0, len(requests.arrival_us)
    while start < count:
        limit = requests.offsets[start] + most_blocks
        end = int(np.searchsorted(requests.offsets, limit, side="right")) - 1
        end = min(max(end, start + 1), count)
        offsets = requests.offsets[start : end + 1]
        yield PrefixBlocks(
            requests.arrival_us[start:end],
            offsets - offsets[0],
            requests.ids[offsets[0] : offsets[-1]],
            requests.prompt_tokens[start:end],
        )
        start = end


class BlockSize:
    """The block size that a curve counts in, made from the log's.

    A multiple merges blocks: a merged block is named by its last one. A divisor splits them: the
    parts of one block are hit or missed as the log shows it, so what two different blocks may share
    inside is not known. The partial last block counts as a block where the log keeps it.
    """

    def __init__(self, log_tokens: int, wanted_tokens: int | None, keeps_partial: bool) -> None:
        self.tokens = log_tokens if wanted_tokens is None else wanted_tokens
        if self.tokens % log_tokens and log_tokens % self.tokens:
            raise BadInput(
                f"--block-tokens is {self.tokens}, but the log's blocks hold {log_tokens} tokens; "
                f"expected a divisor or a multiple of {log_tokens}"
            )
        self._merge = max(1, self.tokens // log_tokens)
        self.parts = max(1, log_tokens // self.tokens)
        self._log_tokens = log_tokens
        self._keeps_partial = keeps_partial

    def merged(self, requests: PrefixBlocks) -> PrefixBlocks:
        """The requests with blocks at least as large as the log's."""
        if self._merge == 1:
            return requests
        counts = np.diff(requests.offsets)
        found = (counts + self._merge - 1 if self._keeps_partial else counts) // self._merge
        offsets = np.concatenate(([0], np.cumsum(found)))
        index = np.arange(offsets[-1]) - np.repeat(offsets[:-1], found)
        last = np.minimum((index + 1) * self._merge, np.repeat(counts, found)) - 1
        ids = requests.ids[last + np.repeat(requests.offsets[:-1], found)]
        return PrefixBlocks(requests.arrival_us, offsets, ids, requests.prompt_tokens)

    def missing_tokens(self, requests: PrefixBlocks) -> Counts:
        """By how much the (merged) blocks of each request are longer than its prompt.

        That is what its partial last block falls short of a whole one; 0 where the prompt's length
        is not known.
        """
        whole = self.tokens * self.parts
        over = np.diff(requests.offsets) * whole - requests.prompt_tokens
        return np.where((over > 0) & (requests.prompt_tokens >= 0), over, 0)

    def split(self, numbers: Numbers, offsets: Counts, missing: Counts) -> tuple[Numbers, Counts]:
        """(numbers, offsets) of the parts of each block; numbers are `parts` times as high.

        Of a last block with `missing` tokens only the parts are there that hold some.
        """
        if self.parts == 1:
            return numbers, offsets
        parts = np.full(len(numbers), self.parts, dtype=np.int64)
        partial = missing > 0
        parts[offsets[1:][partial] - 1] -= missing[partial] // self.tokens
        ends = np.concatenate(([0], np.cumsum(parts)))
        inside = np.arange(ends[-1]) - np.repeat(ends[:-1], parts)
        made = np.repeat(numbers.astype(np.int64) * self.parts, parts) + inside
        return made.astype(np.int32), ends[offsets]
