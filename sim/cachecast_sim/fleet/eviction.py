"""In which order a full tier lets its blocks go. A new policy is one class and its line below."""

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable
from heapq import heapify, heappop, heappush

from cachecast_sim.fleet.job import Job
from cachecast_sim.fleet.prefixes import Segment
from cachecast_sim.fleet.tiers import EvictionOrder, Key

NEVER = 1 << 62


class Fifo:
    """The first written goes first; being used changes nothing."""

    def __init__(self) -> None:
        self._keys: OrderedDict[Key, None] = OrderedDict()

    def add(self, key: Key, now_ns: int) -> None:
        self._keys[key] = None

    def touch(self, key: Key, now_ns: int) -> None:
        """Nothing: the order is that of the writes."""

    def drop(self, key: Key) -> None:
        del self._keys[key]

    def victim(self, now_ns: int) -> Key:
        return next(iter(self._keys))


class Lru(Fifo):
    """The one whose last use is longest ago goes first."""

    def touch(self, key: Key, now_ns: int) -> None:
        self._keys.move_to_end(key)


class Uses:
    """When each block will be needed: the whole log, read ahead."""

    def __init__(self) -> None:
        self._times: dict[Segment, list[tuple[int, int]]] = {}

    def add(self, job: Job) -> None:
        """A job of the log, in the order of arrival."""
        for segment, _, high in job.path:
            if segment.ids:
                self._times.setdefault(segment, []).append((job.arrival_ns, high))

    def next_ns(self, key: Key, now_ns: int) -> int:
        """The next arrival after `now_ns` that needs the block; NEVER if none does."""
        segment, position = key
        times = self._times.get(segment, [])
        for arrival_ns, high in times[bisect_right(times, (now_ns, NEVER)) :]:
            if high > position:
                return arrival_ns
        return NEVER


class Clairvoyant:
    """The one that is needed last goes first (Belady): no policy can keep more hits.

    A bound for arrivals as the log has them; where the simulated use comes later than the arrival,
    it is still what the log knows.
    """

    def __init__(self, uses: Uses) -> None:
        self._uses = uses
        self._next: dict[Key, int] = {}
        self._heap: list[tuple[int, int, int, Key]] = []  # latest use, last block, then by entry
        self._entries = 0

    def add(self, key: Key, now_ns: int) -> None:
        self.touch(key, now_ns)

    def touch(self, key: Key, now_ns: int) -> None:
        next_ns = self._uses.next_ns(key, now_ns)
        self._next[key] = next_ns
        self._entries += 1
        heappush(self._heap, (-next_ns, -key[1], self._entries, key))
        if len(self._heap) > 4 * len(self._next) + 64:  # most entries are stale
            entries = enumerate(self._next.items())
            self._heap = [(-when, -k[1], n, k) for n, (k, when) in entries]
            heapify(self._heap)

    def drop(self, key: Key) -> None:
        del self._next[key]

    def victim(self, now_ns: int) -> Key:
        while True:
            next_ns, _, _, key = self._heap[0]
            if self._next.get(key) == -next_ns:
                return key
            heappop(self._heap)


ORDERS: dict[str, Callable[[Uses | None], EvictionOrder]] = {
    "lru": lambda uses: Lru(),
    "fifo": lambda uses: Fifo(),
    "ttl": lambda uses: Fifo(),  # a life counts from its write, so the first written ends first
    "clairvoyant": lambda uses: Clairvoyant(uses if uses is not None else Uses()),
}
