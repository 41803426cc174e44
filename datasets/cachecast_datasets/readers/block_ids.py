"""Block ids as sources write them, checked and turned into 64-bit arrays."""

from array import array
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt


def check_block_count(field: str, count: int, prompt_tokens: int, block_tokens: int) -> None:
    """ValueError unless `count` blocks of `block_tokens` fit the prompt, rounded down or up."""
    floor, ceiling = prompt_tokens // block_tokens, -(-prompt_tokens // block_tokens)
    if count not in (floor, ceiling):
        accepted = str(floor) if floor == ceiling else f"{floor} or {ceiling}"
        raise ValueError(
            f"{field} has {count} ids, expected {accepted} for {prompt_tokens} tokens in blocks "
            f"of {block_tokens}"
        )


def id_array(ids: Sequence[int], field: str) -> npt.NDArray[np.uint64]:
    """`ids` as unsigned 64-bit numbers. ValueError if one does not fit; nothing is cut."""
    try:
        return np.frombuffer(array("Q", ids), dtype=np.uint64)
    except OverflowError:
        wrong = next(value for value in ids if not 0 <= value < 1 << 64)
        raise ValueError(f"{field} holds {wrong}, expected 0 <= id < 2**64") from None
