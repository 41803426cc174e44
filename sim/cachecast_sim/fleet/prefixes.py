"""Which prompts share which prefix: a path-compressed tree over the ids of a log's token blocks.

Ids name whole prefixes (equal id, equal prompt up to there), so a prompt is a few segments of the
tree, and one segment stands for a run of blocks of any length. Positions are engine blocks from the
start of the prompt.
"""

from array import array
from collections.abc import Sequence

ENDLESS = 1 << 60


_NO_IDS = array("Q")  # of every segment that is a job's own; nobody extends those


class Segment:
    """A run of blocks that lie behind each other in every prompt that holds the last of them.

    `start` is the first one's position. `ids` are the log's ids of the run; a job's own output has
    none. `computed_to` is the position up to which some server ever held the run. `partial_to`: of
    an id that no prompt had whole yet, the position up to which they had it.
    """

    __slots__ = ("computed_to", "ids", "partial_to", "start")

    def __init__(self, start: int, ids: "array[int] | None" = None) -> None:
        self.start = start
        self.ids = ids if ids is not None else _NO_IDS
        self.computed_to = start
        self.partial_to: int | None = None


# (segment, low, high): the blocks [low, high) of a job's sequence lie in that segment. A plain
# tuple: several are made for every request, and a named one takes four times as long.
Piece = tuple[Segment, int, int]
Path = list[Piece]


class PrefixTree:
    """Every prefix that has come by, as segments.

    `blocks_per_id` engine blocks make one block of the log. Memory: 8 bytes an id and a few hundred
    a segment; it is what tells a block that was evicted from one that was never seen.
    """

    def __init__(self, blocks_per_id: int = 1) -> None:
        self.blocks_per_id = blocks_per_id
        self._by_first_id: dict[int, Segment] = {}

    def enter(self, ids: Sequence[int]) -> tuple[Path, int]:
        """The path of a prompt's whole blocks, and how many of its engine blocks an earlier prompt
        had.

        `ids` may be a memoryview of 8-byte unsigned numbers, which is read where it lies.
        ValueError if an id stands at another position than before: then ids do not name prefixes.
        """
        per_id, by_first = self.blocks_per_id, self._by_first_id
        path: Path = []
        at, count, whole = 0, len(ids), True
        segment = None
        while at < count:
            found = by_first.get(ids[at])
            if found is None:
                break
            segment = found
            if segment.start != at * per_id:
                raise _misplaced(ids[at], at, segment.start // per_id)
            known = segment.ids
            length = _common(known, ids, at, count)
            path.append((segment, at * per_id, (at + length) * per_id))
            at += length
            whole = length == len(known)
        shared = at * per_id
        if segment is not None and segment.partial_to is not None:
            shared, segment.partial_to = segment.partial_to, None
        if at == count:
            return path, shared
        if segment is not None and whole:  # nobody went on from here otherwise: no new segment
            _append(segment.ids, ids[at:])
            path[-1] = (segment, segment.start, count * per_id)
        else:
            segment = by_first[ids[at]] = Segment(at * per_id, _append(array("Q"), ids[at:]))
            path.append((segment, segment.start, count * per_id))
        return path, shared

    def enter_partial(self, path: Path, block_id: int, low: int, high: int) -> tuple[Piece, int]:
        """The whole engine blocks [low, high) inside a log's partial last block, behind the whole
        ones of `path`, and up to where an earlier prompt had them; 0 if none had. The id may be
        that of a whole block of another prompt."""
        if path:
            segment = path[-1][0]
            at = (low - segment.start) // self.blocks_per_id
            if at < len(segment.ids) and segment.ids[at] == block_id:
                return (segment, low, high), high
        found = self._by_first_id.get(block_id)
        if found is not None:
            if found.start != low:
                at = low // self.blocks_per_id
                raise _misplaced(block_id, at, found.start // self.blocks_per_id)
            seen_to = high
            if found.partial_to is not None:
                seen_to = min(found.partial_to, high)
                found.partial_to = max(found.partial_to, high)
            return (found, low, high), seen_to
        segment = self._by_first_id[block_id] = Segment(low, array("Q", [block_id]))
        segment.partial_to = high
        return (segment, low, high), 0


def _append(known: "array[int]", ids: Sequence[int]) -> "array[int]":
    """`known`, with the ids behind it; all at once where they lie in memory as it has them."""
    if isinstance(ids, memoryview):
        known.frombytes(ids.cast("B"))
    else:
        known.extend(ids)
    return known


def _misplaced(block_id: int, at: int, before: int) -> ValueError:
    return ValueError(
        f"block id {block_id} is block {at} here and was block {before} of an earlier prompt, "
        "expected ids that name whole prefixes"
    )


def _common(known: "array[int]", ids: Sequence[int], at: int, count: int) -> int:
    """How many leading ids of `known` equal `ids[at:]`; equal ids have equal prefixes."""
    length = min(len(known), count - at)
    if known[length - 1] == ids[at + length - 1]:
        return length
    low, high = 1, length - 1  # known[low-1] equals; known[high] does not
    while low < high:
        middle = (low + high + 1) // 2
        if known[middle - 1] == ids[at + middle - 1]:
            low = middle
        else:
            high = middle - 1
    return low
