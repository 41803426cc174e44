"""The pages that one running request uses, and what becomes of them."""

from cachecast_sim.fleet.prefixes import Path
from cachecast_sim.fleet.sglang.node import Node
from cachecast_sim.fleet.sglang.radix_cache import RadixCache


class Holding:
    """A request's row of pages: the first `tree_pages` are the tree's, the others its own.

        |<------ tree_pages: locked ------>|<-- held: a prompt in work, output, partial page -->|
        |<---------------------------------- pages ------------------------------------------->|

    `path` has every page that the request can fill. A row is made on a match and released once.
    """

    __slots__ = ("_cache", "_namespace", "_node", "_path", "pages", "tree_pages")

    def __init__(
        self, cache: RadixCache, path: Path, most_pages: int, namespace: str | None
    ) -> None:
        """Matches at most `most_pages` leading pages and locks what it found."""
        self._cache = cache
        self._path = path
        self._namespace = namespace
        self.tree_pages, node = cache.match(path, most_pages, namespace)
        self._node: Node | None = node
        self.pages = self.tree_pages
        cache.lock(node)

    def grow(self, pages: int) -> None:
        """The row is `pages` long; the cache's `take` gave the new ones."""
        assert pages >= self.pages, f"a row of {self.pages} pages cannot shrink to {pages}"
        self.pages = pages

    def checkpoint(self, pages: int, prompt_pages: int) -> None:
        """Put the first `pages` pages, all of them computed, into the tree and lock them there.

        A leaf that goes on beyond the prompt is split at the prompt's end, so that output can be
        evicted without its prompt (§1b row 8). That is so already wherever the prompt was put in
        first; it changes something after a readmission, which computes prompt and output together.
        """
        cache, path = self._cache, self._path
        there = cache.insert(path, pages, self._namespace)
        if 0 < prompt_pages < pages:
            cache.insert(path, prompt_pages, self._namespace)
        cache.give_back(there - self.tree_pages)
        matched, node = cache.match(path, pages, self._namespace)
        assert matched == pages, f"{matched} of {pages} pages found right after their insertion"
        assert self._node is not None, "a checkpoint after the release"
        cache.unlock(self._node)
        cache.lock(node)
        self._node, self.tree_pages = node, pages

    def release(self) -> None:
        """Free what is not in the tree (the unaligned tail too) and unlock the rest."""
        assert self._node is not None, "a request's pages are released twice"
        self._cache.give_back(self.pages - self.tree_pages)
        self._cache.unlock(self._node)
        self._node = None
        self.pages = self.tree_pages = 0
