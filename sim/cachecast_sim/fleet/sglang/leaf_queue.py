"""Which leaf of the radix tree goes next: the one that was used least recently."""

from heapq import heappop, heappush, heapreplace

from cachecast_sim.fleet.sglang.node import Node


class LeafQueue:
    """The leaves that may be evicted: no child, no lock.

    The set is kept up to date by who changes a node, so an eviction never walks the tree. Of the
    heap each node has one entry at most, with the access time it had when it was entered. Times
    only grow, so an entry that is out of date is too early, never too late: it is put right when it
    comes to the front.
    """

    __slots__ = ("_heap", "leaves")

    def __init__(self) -> None:
        self.leaves: set[Node] = set()
        self._heap: list[tuple[int, int, Node]] = []

    def add(self, node: Node) -> None:
        """`node` has become a leaf that may go."""
        self.leaves.add(node)
        if not node.queued:
            node.queued = True
            heappush(self._heap, (node.last_access, node.number, node))

    def discard(self, node: Node) -> None:
        """`node` got a child or a lock, or never was a leaf."""
        self.leaves.discard(node)

    def pop(self) -> Node | None:
        """The leaf with the earliest last access, taken out; None when no leaf may go."""
        heap = self._heap
        while heap:
            entered, number, node = heap[0]
            if node not in self.leaves:
                heappop(heap)
                node.queued = False
            elif entered != node.last_access:
                heapreplace(heap, (node.last_access, number, node))
            else:
                heappop(heap)
                node.queued = False
                self.leaves.remove(node)
                return node
        return None
