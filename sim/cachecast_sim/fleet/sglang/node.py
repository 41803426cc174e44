"""What SGLang's radix tree is made of, and where two sequences of pages part.

Pages are not listed one by one: a path (see `fleet/prefixes.py`) is a few pieces, each a run of
pages of one segment, and pages are the same if segment and position are. So an edge of any length
is compared in as many steps as it has pieces.
"""

from typing import Optional

from cachecast_sim.fleet.prefixes import Path, Piece, Segment


class Node:
    """The pages [low, high) of the sequences below `parent`; the root has none.

    `pieces` covers them. Children are looked up by their first page; they all start at `high`, so
    its segment is enough. `queued` says that the leaf queue has an entry of this node, stale or
    not.
    """

    __slots__ = (
        "children", "high", "last_access", "locks", "low", "number", "parent", "pieces", "queued",
    )  # fmt: skip

    def __init__(
        self, number: int, parent: Optional["Node"], low: int, high: int, pieces: Path,
        last_access: int,
    ) -> None:  # fmt: skip
        self.number = number
        self.parent = parent
        self.low = low
        self.high = high
        self.pieces = pieces
        self.last_access = last_access
        self.locks = 0
        self.children: dict[Segment, Node] = {}
        self.queued = False


def between(path: Path, low: int, high: int) -> Path:
    """The pieces of `path` inside [low, high)."""
    return [
        Piece(segment, max(start, low), min(end, high))
        for segment, start, end in path
        if start < high and end > low
    ]


def parting(edge: Path, path: Path, index: int, most: int) -> int:
    """The position where `path` leaves `edge`, at most `most`.

    `path[index]` holds the first page of `edge`.
    """
    for segment, _, high in edge:
        other, low, other_high = path[index]
        if other is not segment:
            return low
        if other_high != high:
            return min(high, other_high, most)
        if high >= most:
            break
        index += 1
        if index == len(path):
            return high
    return most
