"""Content blocks cut into token blocks of a fixed size, as an engine cuts a prompt."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt


def cut_blocks(
    ends: Sequence[int], hashes: Sequence[int], prompt_tokens: int | None, block_tokens: int
) -> npt.NDArray[np.uint64]:
    """The chained id of each token block of a prompt, a partial last one included.

    `ends` are the cumulative tokens of the content blocks, `hashes` their chained hashes. A token
    block is named by the content block in which it ends, with all before it, and by how far into it
    it reaches; what two different content blocks share at their start is not seen. If the content
    blocks end before the prompt does, only the whole blocks in front of the unknown rest exist.
    """
    known = ends[-1] if ends else 0
    whole = known // block_tokens
    stops = np.arange(1, whole + 1, dtype=np.int64) * block_tokens
    if prompt_tokens is not None and prompt_tokens <= known and known % block_tokens:
        stops = np.append(stops, known)
    content = np.searchsorted(np.asarray(ends, dtype=np.int64), stops)
    starts = np.concatenate(([0], np.asarray(ends, dtype=np.int64)))[content]
    return np.asarray(hashes, dtype=np.uint64)[content] + (stops - starts).astype(np.uint64)
