"""vLLM's block pool, in runs of blocks instead of single ones.

Rules: serving-semantics of vLLM 0.32.0: hits are touched only after the free check, new blocks come
from the head of the free queue and lose their hash there and then, blocks are freed in reverse
order, hashed ones to the tail and the rest to the head. Blocks without a hash are all alike and
stand at the head, so a number is enough for them.
"""

from collections.abc import Callable

from cachecast_sim.fleet.extents import Extent, FreeQueue, Holding, Residence
from cachecast_sim.fleet.prefixes import Path, Segment

Evicted = Callable[[Segment, int, int], None]


class BlockPool:
    """The KV blocks of one server. `usable_blocks` leaves the null block out.

    `on_evict(segment, low, high)` hears of hashed blocks that lose their hash.
    """

    def __init__(self, usable_blocks: int, on_evict: Evicted | None = None) -> None:
        self.usable_blocks = usable_blocks
        self.unhashed = usable_blocks  # free blocks without a hash
        self.queue = FreeQueue()
        self.evicted_blocks = 0
        self._on_evict = on_evict
        self._residences: dict[Segment, Residence] = {}

    @property
    def free_blocks(self) -> int:
        return self.unhashed + self.queue.blocks

    def find(self, path: Path, limit: int) -> tuple[list[Holding], int, int]:
        """The cached run at the start of `path`, at most `limit` blocks: its parts, its length and
        how many of its blocks are free. Where blocks are held twice, the oldest counts.

        That is so up to an extent's end: who holds a block holds an older one before it and lets it
        go later, so no older copy can begin behind the start of the oldest.
        """
        found: list[Holding] = []
        at = free = 0
        residences = self._residences
        for segment, _, high in path:
            if high > limit:
                high = limit
            if at >= high:
                break
            residence = residences.get(segment)
            if residence is None:
                break
            extents = residence.extents
            while at < high:
                extent = _oldest(extents, at)
                if extent is None:
                    return found, at, free
                end = extent.high if extent.high < high else high
                found.append((extent, at, end))
                if not extent.users:
                    free += end - at
                at = end
        return found, at, free

    def touch(self, found: list[Holding]) -> list[Holding]:
        """Hold what `find` found: out of the free queue, one user more."""
        held = []
        for extent, low, high in found:
            part = (
                self._claim(extent, low, high)
                if not extent.users
                else self._share(extent, low, high)
            )
            held.append((part, low, high))
        return held

    def take(self, count: int) -> None:
        """Take `count` free blocks for new content, which evicts from the head of the free queue.

        The caller has checked that so many are free.
        """
        if count <= self.unhashed:
            self.unhashed -= count
            return
        count -= self.unhashed
        self.unhashed = 0
        self.evicted_blocks += count
        queue = self.queue
        while count:
            extent = queue.ring.after
            size = extent.high - extent.low
            if size <= count:
                queue.remove(extent)
                self._forget(extent)
                count -= size
                low, high = extent.low, extent.high
            else:
                low, high = extent.high - count, extent.high
                extent.high = low
                queue.blocks -= count
                count = 0
            if self._on_evict is not None:
                self._on_evict(extent.segment, low, high)

    def fill(self, held: list[Holding], path: Path, low: int, high: int) -> None:
        """Blocks [low, high) of a job, which it holds already, are full: they get their hashes."""
        for segment, start, end in path:
            if end <= low:
                continue
            end = min(end, high)
            self._extend(held, segment, max(start, low), end)
            if end == high:
                return

    def release(self, held: list[Holding], unhashed: int, now_ns: int) -> None:
        """A job lets its blocks go, the last first; `unhashed` of them never got a hash."""
        self.unhashed += unhashed
        for extent, low, _ in reversed(held):
            part: Extent | None = extent
            while part is not None:
                lower = part.lower if part.low > low else None
                part.users -= 1
                if not part.users:
                    part.lower = None
                    part.freed_ns = now_ns
                    self._append(part)
                part = lower

    def holds(self, segment: Segment) -> bool:
        """Whether any block of the segment is cached."""
        residence = self._residences.get(segment)
        return residence is not None and bool(residence.extents)

    def computed_to(self, segment: Segment) -> int:
        """The position up to which this pool ever held `segment`; its start if never."""
        residence = self._residences.get(segment)
        return segment.start if residence is None else residence.computed_to

    def expired_from(self, segment: Segment) -> int | None:
        """The lowest position of `segment` that outlived its TTL here, None if none did."""
        residence = self._residences.get(segment)
        return None if residence is None else residence.expired_from

    def expire(self, freed_before_ns: int) -> None:
        """Free blocks whose last use was earlier lose their hash (a TTL, which vLLM has not)."""
        ring = self.queue.ring
        while (extent := ring.after) is not ring and extent.freed_ns < freed_before_ns:
            self.queue.remove(extent)
            residence = self._residences[extent.segment]
            known = residence.expired_from
            residence.expired_from = extent.low if known is None else min(known, extent.low)
            self._forget(extent)
            self.unhashed += extent.high - extent.low

    def clear(self) -> None:
        """Forget everything cached. Only while no job holds blocks."""
        if self.free_blocks != self.usable_blocks:
            held = self.usable_blocks - self.free_blocks
            raise RuntimeError(f"block pool: {held} blocks are held, expected none at a reset")
        self.expire(1 << 62)

    def _forget(self, extent: Extent) -> None:
        """Its blocks lost their hash. A job's own output is not remembered: nobody asks for it."""
        residence = self._residences[extent.segment]
        residence.extents.remove(extent)
        if not residence.extents and not extent.segment.ids:
            del self._residences[extent.segment]

    def _extend(self, held: list[Holding], segment: Segment, low: int, high: int) -> None:
        residence = self._residences.get(segment)
        if residence is None:
            residence = self._residences[segment] = Residence(segment.start)
        if high > residence.computed_to:
            residence.computed_to = high
            if high > segment.computed_to:
                segment.computed_to = high
        extents = residence.extents
        if held:
            extent, start, end = held[-1]
            grows = end == low and extent.segment is segment and extent.users == 1
            if grows and (len(extents) == 1 or _is_top(extents, extent)):
                extent.high = high
                held[-1] = (extent, start, high)
                return
        extent = Extent(segment, low, high, users=1)
        extents.append(extent)
        held.append((extent, low, high))

    def _claim(self, extent: Extent, low: int, high: int) -> Extent:
        """[low, high) of a free extent, held; the rest keeps its place in the queue."""
        queue = self.queue
        if low == extent.low and high == extent.high:
            queue.remove(extent)
            extent.users = 1
            return extent
        part = Extent(extent.segment, low, high, users=1)
        self._beside(extent, part)
        queue.blocks -= high - low
        if high == extent.high:
            extent.high = low
        elif low == extent.low:
            extent.low = high
        else:  # from the middle: the upper rest is evicted before the lower one
            rest = Extent(extent.segment, extent.low, low, users=0)
            rest.freed_ns = extent.freed_ns
            self._beside(extent, rest)
            queue.insert_after(extent, rest)
            extent.low = high
        return part

    def _share(self, extent: Extent, low: int, high: int) -> Extent:
        """[low, high) of an extent that other jobs hold, held once more."""
        part = extent
        if high < extent.high:
            part = self._split(extent, high)
        if low > part.low:
            self._split(part, low)
        part.users += 1
        return part

    def _split(self, extent: Extent, at: int) -> Extent:
        """Its part below `at` as an extent of its own, to which those who hold it are led."""
        part = Extent(extent.segment, extent.low, at, extent.users)
        part.lower = extent.lower
        extent.low, extent.lower = at, part
        self._beside(extent, part)
        return part

    def _beside(self, extent: Extent, part: Extent) -> None:
        """Of the same age: between them no other may come."""
        extents = self._residences[extent.segment].extents
        extents.insert(extents.index(extent), part)

    def _append(self, extent: Extent) -> None:
        """To the tail of the free queue, joined to its last where that is the run's upper part."""
        queue = self.queue
        last = queue.ring.before
        if (
            last.segment is extent.segment
            and last.low == extent.high
            and last.freed_ns == extent.freed_ns
        ):
            extents = self._residences[extent.segment].extents
            if len(extents) == 2:
                queue.blocks += extent.high - extent.low
                last.low = extent.low
                extents.remove(extent)
                return
        queue.append(extent)


def _oldest(extents: list[Extent], at: int) -> Extent | None:
    for extent in extents:
        if extent.low <= at < extent.high:
            return extent
    return None


def _is_top(extents: list[Extent], extent: Extent) -> bool:
    """Whether nobody else holds or held what comes after it: then age cannot decide anything."""
    high = extent.high
    return all(other.high <= high for other in extents if other is not extent)
