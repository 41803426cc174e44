"""Positions at every N-th token block, beside a token-block log's own boundaries."""

from collections.abc import Sequence

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
    counts = {n for step in steps for n in range(step, len(blocks) + 1, step)}
    there = set(boundaries.tokens)
    grid = sorted(n for n in counts if n * size not in there and n < len(blocks))
    counted = bool(boundaries.positions) and boundaries.positions[-1] is not None
    made = Boundaries([], [], [], [])
    at, position = 0, 1 if counted else None
    for tokens, value, name, own in zip(*boundaries, strict=True):
        while at < len(grid) and grid[at] * size < tokens:
            _append(made, grid[at] * size, blocks.item(grid[at] - 1), _INSIDE.get(name), position)
            at += 1
        _append(made, tokens, value, name, own)
        position = own
    return made


def _append(
    made: Boundaries, tokens: int, value: int, name: str | None, position: int | None
) -> None:
    made.tokens.append(tokens)
    made.hashes.append(value)
    made.names.append(name or "in_messages")
    made.positions.append(position)
