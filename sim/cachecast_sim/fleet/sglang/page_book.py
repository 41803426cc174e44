"""Which page is which: numbers for the pages of paths, and how far a server has seen them."""

from array import array

from cachecast_sim.fleet.prefixes import ENDLESS, Path, Segment

_POSITION_BITS = 32  # a sequence has fewer pages than this can count


class PageBook:
    """Names the pages of one server's paths, and remembers what its tree ever held.

    A page is a segment of the prefix tree and a position in it, so equal ids mean equal tokens
    after equal prefixes. A job's own output is its own segment and nobody else's: it gets a number
    and is forgotten.
    """

    __slots__ = ("_computed_to", "_numbers", "_used")

    def __init__(self) -> None:
        self._numbers: dict[Segment, int] = {}
        self._computed_to: dict[Segment, int] = {}
        self._used = 0

    def ids(self, path: Path, pages: int) -> "array[int]":
        """One id for each of the first `pages` pages of `path`."""
        ids = array("q")
        for segment, low, high in path:
            if low >= pages:
                break
            base = self._number(segment, own=high == ENDLESS) << _POSITION_BITS
            ids.extend(range(base + low, base + min(high, pages)))
        return ids

    def note(self, path: Path, pages: int) -> None:
        """The tree holds the first `pages` pages of `path` now."""
        for segment, low, high in path:
            if low >= pages or high == ENDLESS:
                break
            end = min(high, pages)
            if end > self._computed_to.get(segment, segment.start):
                self._computed_to[segment] = end
                segment.computed_to = max(segment.computed_to, end)

    def computed_to(self, segment: Segment) -> int:
        """The position up to which this server's tree ever held the segment."""
        return self._computed_to.get(segment, segment.start)

    def expired_from(self, segment: Segment) -> int | None:
        """None: nothing expires here."""
        return None

    def _number(self, segment: Segment, own: bool) -> int:
        number = None if own else self._numbers.get(segment)
        if number is None:
            self._used += 1
            number = self._used
            if not own:
                self._numbers[segment] = number
        return number
