"""SGLang's radix cache: which pages of a server's KV memory are free, held or kept for reuse.

Rules: serving-semantics §1b rows 1-8 and §1d (SGLang 0.5.23, `mem_cache/radix_cache.py`), with the
eviction strategy `lru`. The priority of a prompt over its output (row 8) is not kept, because lru
does not read it; the split at the end of the prompt that comes with it is, see `Holding`.
"""

from cachecast_sim.fleet.prefixes import Path
from cachecast_sim.fleet.sglang.leaf_queue import LeafQueue
from cachecast_sim.fleet.sglang.node import Node, between, parting


class RadixCache:
    """The pages of one server, all of them usable: free + held + tree == total, always.

    *free* pages belong to nobody, *held* ones to running requests, *tree* ones to the radix tree,
    where later requests find them. `pages` arguments count leading pages of a path, which has at
    least so many; a caller cuts prompts to whole pages. Access times are a counter that grows with
    every look-up, every insertion and every new node, so no two leaves are equally old.
    """

    __slots__ = (
        "_clock", "_leaves", "_nodes", "_roots", "evictable_pages", "evicted_pages", "free_pages",
        "held_pages", "total_pages", "tree_pages",
    )  # fmt: skip

    def __init__(self, total_pages: int) -> None:
        self.total_pages = total_pages
        self.free_pages = total_pages
        self.held_pages = 0
        self.tree_pages = 0
        self.evictable_pages = 0  # tree pages without a lock
        self.evicted_pages = 0  # since the start
        self._leaves = LeafQueue()
        self._roots: dict[str | None, Node] = {}
        self._clock = 0
        self._nodes = 0

    def match(self, path: Path, pages: int, namespace: str | None) -> tuple[int, Node]:
        """How many of the first `pages` pages are in the tree, and the node where they end.

        A look-up is a use: every node on the way becomes the most recent, and a node that is
        matched in part is split, both halves recent (rows 3 and 4).
        """
        root = self._root(namespace)
        if pages <= 0:
            return 0, root
        return self._walk(path, pages, root)

    def peek(self, path: Path, pages: int, namespace: str | None) -> int:
        """What `match` would find, and nothing changes."""
        node = self._roots.get(namespace)
        at = index = 0
        while node is not None and at < pages:
            while path[index].high <= at:
                index += 1
            node = node.children.get(path[index].segment)
            if node is not None:
                at = parting(node.pieces, path, index, min(node.high, pages))
                if at < node.high:
                    break
        return at

    def insert(self, path: Path, pages: int, namespace: str | None) -> int:
        """How many of the first `pages` pages the tree had; the others become a new leaf.

        The new ones change from held to tree. The caller frees its copies of those that were there
        (de-duplication, row 7).
        """
        if pages <= 0:
            return 0
        at, node = self._walk(path, pages, self._root(namespace))
        if at < pages:
            own = between(path, at, pages)
            leaf = self._new_node(node, at, pages, own)
            node.children[own[0].segment] = leaf
            self._leaves.discard(node)
            self._leaves.add(leaf)
            new = pages - at
            self.tree_pages += new
            self.evictable_pages += new
            self.held_pages -= new
        return at

    def lock(self, node: Node) -> None:
        """Keep `node` and all above it from eviction, once more (row 5)."""
        while node.parent is not None:
            if node.locks == 0:
                self.evictable_pages -= node.high - node.low
                self._leaves.discard(node)
            node.locks += 1
            node = node.parent

    def unlock(self, node: Node) -> None:
        """Take one lock back from `node` and all above it."""
        while node.parent is not None:
            assert node.locks > 0, f"node {node.number} is unlocked more often than locked"
            node.locks -= 1
            if node.locks == 0:
                self.evictable_pages += node.high - node.low
                if not node.children:
                    self._leaves.add(node)
            node = node.parent

    def take(self, pages: int) -> bool:
        """Make `pages` free pages held ones, after evicting what is missing; False if it cannot be.

        What was evicted stays evicted then (SGLang evicts before it asks whether that was enough).
        """
        self.evict(pages - self.free_pages)
        if pages > self.free_pages:
            return False
        self.free_pages -= pages
        self.held_pages += pages
        return True

    def give_back(self, pages: int) -> None:
        """Held pages become free."""
        self.free_pages += pages
        self.held_pages -= pages

    def evict(self, pages: int) -> int:
        """Drop least recently used leaves until at least `pages` pages are freed; how many were.

        Leaves go whole, so it can be more, and fewer where locks leave no more (row 6). A parent
        that loses its last child is a leaf from then on.
        """
        gone = 0
        while gone < pages:
            leaf = self._leaves.pop()
            if leaf is None:
                break
            gone += leaf.high - leaf.low
            parent = leaf.parent
            assert parent is not None, "the root is never a leaf"
            del parent.children[leaf.pieces[0].segment]
            if not parent.children and parent.locks == 0 and parent.parent is not None:
                self._leaves.add(parent)
        self.free_pages += gone
        self.tree_pages -= gone
        self.evictable_pages -= gone
        self.evicted_pages += gone
        return gone

    def _walk(self, path: Path, pages: int, node: Node) -> tuple[int, Node]:
        now = self._tick()
        at = index = 0
        while at < pages:
            while path[index].high <= at:
                index += 1
            child = node.children.get(path[index].segment)
            if child is None:
                break
            child.last_access = now
            at = parting(child.pieces, path, index, min(child.high, pages))
            if at < child.high:
                return at, self._split(child, at)
            node = child
        return at, node

    def _split(self, lower: Node, at: int) -> Node:
        """The new node of what `lower` has before page `at`; `lower` keeps the rest and its place.

        Who locked the lower half holds the upper one too.
        """
        above = lower.parent
        assert above is not None, "the root has no pages to split"
        upper = self._new_node(above, lower.low, at, between(lower.pieces, lower.low, at))
        upper.locks = lower.locks
        above.children[upper.pieces[0].segment] = upper
        lower.pieces = between(lower.pieces, at, lower.high)
        lower.low = at
        lower.parent = upper
        upper.children[lower.pieces[0].segment] = lower
        return upper

    def _root(self, namespace: str | None) -> Node:
        root = self._roots.get(namespace)
        if root is None:
            root = self._roots[namespace] = Node(0, None, 0, 0, [], 0)
        return root

    def _new_node(self, parent: Node, low: int, high: int, pieces: Path) -> Node:
        self._nodes += 1
        return Node(self._nodes, parent, low, high, pieces, self._tick())

    def _tick(self) -> int:
        self._clock += 1
        return self._clock
