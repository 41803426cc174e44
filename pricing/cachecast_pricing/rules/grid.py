"""Positions at every N-th token block, beside a token-block log's own boundaries."""

from bisect import bisect_left
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from cachecast_datasets.request import Boundaries, Request

# A position inside the tools or the system text belongs to their level (see `Prompt`).
_INSIDE = {"tools": "in_tools", "system": "in_system"}


def with_grid(boundaries: Boundaries, request: Request, steps: Sequence[int]) -> Boundaries:
    """The boundaries with each multiple of the `steps` among them.

    A grid position holds as many content blocks as the boundary before it (design §3, `shared`).
    Unchanged on logs with content blocks or without token blocks.
    """
    blocks, size = request.token_blocks, request.token_block_size
    if not steps or request.blocks is not None or blocks is None or size is None:
        return boundaries
    grid, hashes = _grid(blocks, size, steps)
    counted = bool(boundaries.positions) and boundaries.positions[-1] is not None
    made = Boundaries([], [], [], [])
    at, position = 0, 1 if counted else None
    for tokens, value, name, own in zip(*boundaries, strict=True):
        end = bisect_left(grid, tokens, at)
        if end > at:
            made.tokens.extend(grid[at:end])
            made.hashes.extend(hashes[at:end])
            made.names.extend([_INSIDE.get(name, "in_messages")] * (end - at))
            made.positions.extend([position] * (end - at))
        made.tokens.append(tokens)
        made.hashes.append(value)
        made.names.append(name or "in_messages")
        made.positions.append(own)
        position = own
        at = end + (end < len(grid) and grid[end] == tokens)  # a boundary is there already
    return made


def _grid(
    blocks: npt.NDArray[np.uint64], size: int, steps: Sequence[int]
) -> tuple[Sequence[int], list[int]]:
    """(prefix lengths in tokens, ids) of each multiple of the steps before the last block."""
    if len(steps) == 1:  # the usual case, and a range costs nothing
        (step,) = steps
        grid = range(step * size, len(blocks) * size, step * size)
        return grid, blocks[step - 1 :: step][: len(grid)].tolist()
    counts = sorted({n for step in steps for n in range(step, len(blocks), step)})
    return [n * size for n in counts], blocks[np.array(counts, dtype=np.int64) - 1].tolist()
