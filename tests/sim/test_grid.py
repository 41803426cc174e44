"""Every N-th token block as a position: at once, against one after the other."""

from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from sim.token_logs import built, step

from cachecast_datasets.request import Boundaries, Request
from cachecast_pricing.rules.grid import with_grid

LEVELS = {"tools": "in_tools", "system": "in_system"}


def slowly(boundaries: Boundaries, request: Request, steps: Sequence[int]) -> Boundaries:
    """Each block that is a multiple of a step, unless a boundary stands there or none follows."""
    blocks, size = request.token_blocks, request.token_block_size
    assert blocks is not None
    assert size is not None
    rows = list(zip(*boundaries, strict=True))
    last = boundaries.tokens[-1] if boundaries.tokens else 0
    for n in range(1, len(blocks)):
        wanted = any(n % one == 0 for one in steps)
        if not wanted or n * size in boundaries.tokens or n * size >= last:
            continue
        before = [row for row in rows if row[0] < n * size]
        following = next(row for row in rows if row[0] > n * size)
        counted = boundaries.positions[-1] is not None
        position = before[-1][3] if before else 1 if counted else None
        name = LEVELS.get(following[2], following[2] if following[2] in LEVELS.values() else "")
        rows.append((n * size, int(blocks[n - 1]), name or "in_messages", position))
        rows.sort(key=lambda row: row[0])
    columns = [list(column) for column in zip(*rows, strict=True)] if rows else [[], [], [], []]
    return Boundaries(*columns)


@given(
    steps=st.lists(step, min_size=1, max_size=6),
    system=st.booleans(),
    every=st.sets(st.integers(1, 9), min_size=1, max_size=3),
)
def test_a_grid_has_every_nth_block_that_is_no_boundary_yet(
    steps: list[dict[str, object]], system: bool, every: set[int]
) -> None:
    for request in built(steps, system):
        boundaries = request.boundaries
        assert boundaries is not None
        found = with_grid(boundaries, request, sorted(every))
        assert found == slowly(boundaries, request, sorted(every))


def test_the_block_where_the_prompt_ends_is_a_boundary_and_not_doubled() -> None:
    """Eight blocks of 256 tokens: every fourth is block 4, and block 8 is the last boundary."""
    request = Request("a", 0)
    request.token_blocks = np.arange(11, 19, dtype=np.uint64)
    request.token_block_size = 256
    own = Boundaries([512, 2048], [12, 18], ["system", "end"], [1, 2])

    assert with_grid(own, request, [4]) == Boundaries(
        [512, 1024, 2048], [12, 14, 18], ["system", "in_messages", "end"], [1, 1, 2]
    )
