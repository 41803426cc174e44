"""Runs of cached blocks: the unit in which the block pool works, and the free queue of them."""

from cachecast_sim.fleet.prefixes import Segment


class Extent:
    """Physical blocks that hold the positions [low, high) of a segment, referenced alike.

    `users` counts the jobs that hold them; without any they stand in the free queue, high end
    first. A run that is held never moves its high end; when a new job holds only the lower part,
    that part becomes an extent of its own and `lower` leads to it.
    """

    __slots__ = ("after", "before", "freed_ns", "high", "low", "lower", "segment", "users")

    def __init__(self, segment: Segment, low: int, high: int, users: int) -> None:
        self.segment = segment
        self.low = low
        self.high = high
        self.users = users
        self.lower: Extent | None = None
        self.before: Extent = self
        self.after: Extent = self
        self.freed_ns = 0


# (extent, low, high): one job holds [low, high) of `extent`, and what was split off below it since
Holding = tuple[Extent, int, int]


class Residence:
    """What one pool holds of one segment, oldest first, and up to where it ever held it.

    `expired_from` is the lowest position that outlived its TTL here.
    """

    __slots__ = ("computed_to", "expired_from", "extents")

    def __init__(self, start: int) -> None:
        self.extents: list[Extent] = []
        self.computed_to = start
        self.expired_from: int | None = None


class FreeQueue:
    """Free extents by the time at which they were freed; the head is evicted first.

    A ring with a sentinel instead of an ordered dict: a split must put its part beside its origin.
    """

    __slots__ = ("blocks", "ring")

    def __init__(self) -> None:
        self.ring = Extent(Segment(0), 0, 0, 0)
        self.blocks = 0

    def append(self, extent: Extent) -> None:
        ring = self.ring
        last = ring.before
        extent.before, extent.after = last, ring
        last.after = ring.before = extent
        self.blocks += extent.high - extent.low

    def insert_after(self, place: Extent, extent: Extent) -> None:
        """Beside `place`, of whose blocks these are a part: the count stays."""
        following = place.after
        extent.before, extent.after = place, following
        place.after = following.before = extent

    def remove(self, extent: Extent) -> None:
        before, after = extent.before, extent.after
        before.after, after.before = after, before
        self.blocks -= extent.high - extent.low
