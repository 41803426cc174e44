"""Random operations on the radix cache: its invariants after each, and a flat table beside it."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from sim.sglang_jobs import check, nodes_of, pages_of
from sim.slow_radix import SlowRadix

from cachecast_sim.fleet.prefixes import Path, PrefixTree
from cachecast_sim.fleet.sglang.holding import Holding
from cachecast_sim.fleet.sglang.radix_cache import RadixCache

TOKENS = st.lists(st.integers(0, 1), min_size=1, max_size=9).map(tuple)
Tokens = tuple[int, ...]


class Request:
    """A running request in both caches."""

    def __init__(self, fast: RadixCache, slow: SlowRadix, path: Path) -> None:
        ids = pages_of(path, path[-1].high)
        self.slow, self.ids = slow, ids
        self.shared = slow.match(ids)
        slow.lock(ids[: self.shared])
        self.holding = Holding(fast, path, len(ids), None)
        assert self.holding.tree_pages == self.shared

    def checkpoint(self, pages: int, prompt: int) -> None:
        ids, slow = self.ids[:pages], self.slow
        there = slow.insert(ids)
        if 0 < prompt < pages:
            slow.insert(ids[:prompt])
        slow.give_back(there - self.shared)
        slow.match(ids)
        slow.lock(self.ids[: self.shared], -1)
        slow.lock(ids)
        self.shared = pages
        self.holding.checkpoint(pages, prompt)

    def release(self) -> None:
        self.slow.give_back(self.holding.pages - self.shared)
        self.slow.lock(self.ids[: self.shared], -1)
        self.holding.release()


class Caches(RuleBasedStateMachine):
    """The same operations on both."""

    @initialize(total=st.integers(3, 25))
    def make(self, total: int) -> None:
        self.fast, self.slow = RadixCache(total), SlowRadix(total)
        self.running: list[Request] = []
        self.tree = PrefixTree()
        self.prefixes: dict[Tokens, int] = {}

    def path(self, tokens: Tokens) -> Path:
        """Pages of one token each; an id names everything up to it."""
        ids = [self.prefixes.setdefault(tokens[: end + 1], len(self.prefixes))
               for end in range(len(tokens))]  # fmt: skip
        return self.tree.enter(ids)[0]

    @rule(tokens=TOKENS)
    def admit(self, tokens: Tokens) -> None:
        self.running.append(Request(self.fast, self.slow, self.path(tokens)))

    @precondition(lambda self: self.running)
    @rule(which=st.integers(0, 9), pages=st.integers(1, 9))
    def compute(self, which: int, pages: int) -> None:
        request = self.running[which % len(self.running)]
        end = min(request.holding.pages + pages, len(request.ids))
        need = end - request.holding.pages
        found = self.fast.take(need)
        assert found == self.slow.take(need)
        if found:
            request.holding.grow(end)

    @precondition(lambda self: self.running)
    @rule(which=st.integers(0, 9), back=st.integers(0, 3), prompt=st.integers(0, 9))
    def checkpoint(self, which: int, back: int, prompt: int) -> None:
        request = self.running[which % len(self.running)]
        pages = max(request.holding.pages - back, request.holding.tree_pages)
        request.checkpoint(pages, prompt)

    @precondition(lambda self: self.running)
    @rule(which=st.integers(0, 9))
    def release(self, which: int) -> None:
        self.running.pop(which % len(self.running)).release()

    @rule(tokens=TOKENS)
    def look(self, tokens: Tokens) -> None:
        path, size = self.path(tokens), len(tokens)
        seen = self.fast.peek(path, size, None)
        assert seen == self.fast.match(path, size, None)[0] == self.slow.match(pages_of(path, size))

    @rule(pages=st.integers(1, 12))
    def evict(self, pages: int) -> None:
        assert self.fast.evict(pages) == self.slow.evict(pages)

    @invariant()
    def alike(self) -> None:
        fast, slow = self.fast, self.slow
        check(fast)
        assert (fast.free_pages, fast.held_pages) == (slow.free, slow.held)
        assert (fast.evictable_pages, fast.evicted_pages) == (slow.evictable, slow.evicted)
        assert fast.held_pages == sum(r.holding.pages - r.holding.tree_pages for r in self.running)
        assert {prefix: (node.low, node.locks, node.last_access)
                for prefix, node in nodes_of(fast)} == {
            prefix: (run.above, run.locks, run.used) for prefix, run in slow.runs.items()
        }  # fmt: skip


Caches.TestCase.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
TestRadixCacheAgainstAFlatTable = Caches.TestCase
