"""All prompts of one scope as a tree of runs: the longest run shared with a live earlier prompt.

Hashes are chained, so one hash names a whole prefix: a dict from hash to tree node finds the
longest common run by scanning back from a prompt's end, which costs as much as the prompt is new.
"""

from typing import NamedTuple

from cachecast_pricing.rules.memory import NEVER
from cachecast_pricing.rules.runs import Runs

_WORTH_TIDYING = 50_000  # positions


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

    __slots__ = ("_tidied_size", "expiry_us", "index", "pending")

    def __init__(self) -> None:
        self.index: dict[int, Node] = {}
        self.expiry_us = NEVER  # of the run that lives longest
        self.pending = 0  # prompts whose response has not started
        self._tidied_size = 0

    def locate(self, runs: Runs) -> tuple[int, Node | None]:
        """(positions shared with any earlier prompt, the node in which that run ends).

        With a prefix all of its own prefixes are known, so it is searched for: in growing steps
        back from the end, where the new part is, then by halves.
        """
        index, hash_at = self.index, runs.hash_at
        unknown = runs.count + 1  # the shortest prefix known to be new
        known, step = runs.count, 1
        while known > 0 and hash_at(known) not in index:
            unknown, known, step = known, known - step, step * 2
        known = max(known, 0)
        while unknown - known > 1:
            middle = (known + unknown) // 2
            if hash_at(middle) in index:
                known = middle
            else:
                unknown = middle
        return known, index[hash_at(known)] if known else None

    def insert(self, runs: Runs, shared: int, node: Node | None) -> Node | None:
        """Add a prompt, given what `locate` said of it; the node in which it ends."""
        if node is not None and shared < node.end:
            node = self._split(runs, shared, node)
        if shared == runs.count:
            return node
        leaf = Node(node, shared, runs.count)
        self.index.update(dict.fromkeys(runs.between(shared, runs.count), leaf))
        return leaf

    def announce(self, node: Node | None) -> None:
        """A prompt through `node` was sent; its response has not started."""
        self.pending += 1
        while node is not None:
            node.pending += 1
            node = node.parent

    def settle(self, node: Node | None, ready_us: int, expiry_us: int | None) -> None:
        """The prompt's response started (its runs live until `expiry_us`) or never will (None)."""
        self.pending -= 1
        if expiry_us is None:
            while node is not None:
                node.pending -= 1
                node = node.parent
            return
        if expiry_us > self.expiry_us:
            self.expiry_us = expiry_us
        while node is not None:
            node.pending -= 1
            if node.expiry_us < ready_us:  # not there, or not there any more
                node.ready_us = ready_us
            if expiry_us > node.expiry_us:
                node.expiry_us = expiry_us
            node = node.parent

    def _split(self, runs: Runs, at: int, node: Node) -> Node:
        """The upper part of `node`, up to `at`; `runs` are equal to its own up to there."""
        upper = Node(node.parent, node.start, at)
        upper.expiry_us, upper.ready_us, upper.pending = node.expiry_us, node.ready_us, node.pending
        self.index.update(dict.fromkeys(runs.between(node.start, at), upper))
        node.start, node.parent = at, upper
        return upper

    def forget(self, oldest_us: int) -> None:
        """Drop the runs that no prompt has used since `oldest_us`; rarely, as it looks at all."""
        if len(self.index) < 2 * self._tidied_size + _WORTH_TIDYING:
            return
        index = self.index
        self.index = {h: n for h, n in index.items() if n.pending or n.expiry_us >= oldest_us}
        self._tidied_size = len(self.index)


def live_length(node: Node | None, shared: int, now_us: int) -> int:
    """How many of the `shared` positions ending in `node` belong to a live prompt."""
    while node is not None and not node.alive(now_us):
        shared, node = node.start, node.parent
    return shared if node is not None else 0


class Path(NamedTuple):
    """Where a prompt lies: its tree, and the node in which it ends."""

    tree: PrefixTree
    node: Node | None

    def announce(self) -> None:
        """The prompt was sent."""
        self.tree.announce(self.node)

    def settle(self, ready_us: int, expiry_us: int | None) -> None:
        """Its response started, or never will (None)."""
        self.tree.settle(self.node, ready_us, expiry_us)
