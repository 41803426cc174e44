"""What a server's tree ever held, to tell a page that was evicted from one that never was there."""

from cachecast_sim.fleet.prefixes import ENDLESS, Path, Segment


class Seen:
    """How far each segment came. A job's own output, which nobody else asks for, is left out."""

    __slots__ = ("_computed_to",)

    def __init__(self) -> None:
        self._computed_to: dict[Segment, int] = {}

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
