"""All prompts of one scope as a tree of runs: the longest run shared with a live earlier prompt.

Hashes are chained, so one hash names a whole prefix: a dict from hash to tree node finds the
longest common run by scanning back from a prompt's end, which costs as much as the prompt is new.
"""

from collections.abc import Sequence

from cachecast_pricing.rules.memory import NEVER


class Node:
    """A run of positions `start <= i < end` below `parent`; alive while some prompt uses it.

    `pending` counts prompts through it whose response has not started. A parent's life is never
    shorter than its children's.
    """

    __slots__ = ("end", "expiry_us", "parent", "pending", "ready_us", "start")

    def __init__(self, parent: "Node | None", start: int, end: int) -> None:
        self.parent = parent
        self.start = start
        self.end = end
        self.expiry_us = NEVER
        self.ready_us = 0
        self.pending = 0

    def alive(self, now_us: int) -> bool:
        """Some prompt through this run is stored and readable at `now_us`."""
        return self.ready_us <= now_us <= self.expiry_us


class PrefixTree:
    """The tree of one scope; positions are whatever the prompts' hashes stand for."""

    __slots__ = ("index",)

    def __init__(self) -> None:
        self.index: dict[int, Node] = {}

    def locate(self, hashes: Sequence[int]) -> tuple[int, Node | None]:
        """(positions shared with any earlier prompt, the node in which that run ends)."""
        index = self.index
        for i in range(len(hashes) - 1, -1, -1):
            node = index.get(hashes[i])
            if node is not None:
                return i + 1, node
        return 0, None

    def insert(self, hashes: Sequence[int], shared: int, node: Node | None) -> Node | None:
        """Add a prompt, given what `locate` said of it; the node in which it ends."""
        if node is not None and shared < node.end:
            node = self._split(hashes, shared, node)
        if shared == len(hashes):
            return node
        leaf = Node(node, shared, len(hashes))
        for i in range(shared, len(hashes)):
            self.index[hashes[i]] = leaf
        return leaf

    def _split(self, hashes: Sequence[int], at: int, node: Node) -> Node:
        """The upper part of `node`, up to `at`; `hashes` are equal to its own up to there."""
        upper = Node(node.parent, node.start, at)
        upper.expiry_us, upper.ready_us, upper.pending = node.expiry_us, node.ready_us, node.pending
        for i in range(node.start, at):
            self.index[hashes[i]] = upper
        node.start, node.parent = at, upper
        return upper

    def forget(self, oldest_us: int) -> None:
        """Drop the runs that no prompt has used since `oldest_us`."""
        self.index = {h: n for h, n in self.index.items() if n.pending or n.expiry_us >= oldest_us}


def live_length(node: Node | None, shared: int, now_us: int) -> int:
    """How many of the `shared` positions ending in `node` belong to a live prompt."""
    while node is not None and not node.alive(now_us):
        shared, node = node.start, node.parent
    return shared if node is not None else 0


def announce(node: Node | None) -> None:
    """A prompt through `node` was sent; its response has not started."""
    while node is not None:
        node.pending += 1
        node = node.parent


def settle(node: Node | None, ready_us: int, expiry_us: int | None) -> None:
    """The prompt's response started (its runs live until `expiry_us`) or it never will (None)."""
    while node is not None:
        node.pending = max(0, node.pending - 1)
        if expiry_us is not None:
            if node.expiry_us < ready_us:  # not there, or not there any more
                node.ready_us = ready_us
            node.expiry_us = max(node.expiry_us, expiry_us)
        node = node.parent
