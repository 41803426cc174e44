"""Words as prompts and letters as pages, for the tests of the radix cache."""

from collections.abc import Iterable

from sim.sglang_jobs import check, nodes_of, pages_of

from cachecast_sim.fleet.prefixes import Path, PrefixTree, Segment
from cachecast_sim.fleet.sglang.holding import Holding
from cachecast_sim.fleet.sglang.radix_cache import RadixCache


class Words:
    """Words as paths of one prefix tree, and back. The same word before is the same pages."""

    def __init__(self) -> None:
        self._tree = PrefixTree()
        self._ids: dict[str, int] = {}
        self._letters: dict[tuple[Segment, int], str] = {}

    def path(self, word: str) -> Path:
        prefixes = [word[: end + 1] for end in range(len(word))]
        path, _ = self._tree.enter([self._ids.setdefault(p, len(self._ids)) for p in prefixes])
        self._letters |= dict(zip(pages_of(path, len(word)), word, strict=True))
        return path

    def spell(self, pages: Iterable[tuple[Segment, int]]) -> str:
        return "".join(self._letters[page] for page in pages)


WORDS = Words()
pages = WORDS.path


def start(cache: RadixCache, word: str, namespace: str | None = None) -> Holding:
    """A request that looks all of `word` up and gets pages for the rest of it."""
    holding = Holding(cache, pages(word), len(word), namespace)
    assert cache.take(len(word) - holding.pages)
    holding.grow(len(word))
    return holding


def keep(cache: RadixCache, *words: str) -> None:
    """Requests that are computed whole and end, one after the other."""
    for word in words:
        holding = start(cache, word)
        holding.checkpoint(len(word), len(word))
        holding.release()
        check(cache)


def found(cache: RadixCache, word: str, namespace: str | None = None) -> int:
    return cache.peek(pages(word), len(word), namespace)


def segments(cache: RadixCache) -> set[tuple[str, str]]:
    """Each node as (prefix, its own pages)."""
    nodes = ((WORDS.spell(prefix), node.low) for prefix, node in nodes_of(cache))
    return {(word[:low], word[low:]) for word, low in nodes}
