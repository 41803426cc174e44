"""SGLang's radix cache as a flat table, slow and obvious: the oracle of the fast one."""

from dataclasses import dataclass

Prefix = tuple[object, ...]  # pages, whatever stands for one


@dataclass
class Run:
    """The pages of a prefix from `above` on: what one node of the tree holds."""

    above: int
    used: int
    locks: int = 0


class SlowRadix:
    """Each node is a row of `runs`, named by everything from the root to its end."""

    def __init__(self, total: int) -> None:
        self.free = total
        self.held = 0
        self.evicted = 0
        self.runs: dict[Prefix, Run] = {}
        self._clock = 0

    def match(self, ids: Prefix) -> int:
        """Pages found; every node on the way is used, a partly matched one is cut in two."""
        now = self._tick() if ids else 0
        at = 0
        while (end := self._below(ids, at)) is not None:
            run = self.runs[end]
            run.used = now
            same = at
            while same < min(len(end), len(ids)) and end[same] == ids[same]:
                same += 1
            if same < len(end):
                self.runs[end[:same]] = Run(at, self._tick(), run.locks)
                run.above = same
                return same
            at = same
        return at

    def insert(self, ids: Prefix) -> int:
        """Pages that were there; the others become a new node."""
        there = self.match(ids)
        if there < len(ids):
            self.runs[ids] = Run(there, self._tick())
            self.held -= len(ids) - there
        return there

    def lock(self, ids: Prefix, times: int = 1) -> None:
        for end, run in self.runs.items():
            if ids[: len(end)] == end:
                run.locks += times

    def evict(self, pages: int) -> int:
        gone = 0
        while gone < pages and (leaves := self.leaves()):
            oldest = min(leaves, key=lambda end: self.runs[end].used)
            gone += len(oldest) - self.runs[oldest].above
            del self.runs[oldest]
        self.free += gone
        self.evicted += gone
        return gone

    def take(self, pages: int) -> bool:
        self.evict(pages - self.free)
        if self.free < pages:
            return False
        self.free -= pages
        self.held += pages
        return True

    def give_back(self, pages: int) -> None:
        self.free += pages
        self.held -= pages

    def leaves(self) -> list[Prefix]:
        """Nodes without a lock and with nothing below, found by looking at all of them."""
        return [
            end
            for end, run in self.runs.items()
            if run.locks == 0
            and not any(
                run_below.above == len(end) and below[: len(end)] == end
                for below, run_below in self.runs.items()
            )
        ]

    @property
    def evictable(self) -> int:
        return sum(len(end) - run.above for end, run in self.runs.items() if run.locks == 0)

    def _below(self, ids: Prefix, at: int) -> Prefix | None:
        """The node that starts at `at` with the page that `ids` has there, after the same pages."""
        if at >= len(ids):
            return None
        for end, run in self.runs.items():
            if run.above == at and end[: at + 1] == ids[: at + 1]:
                return end
        return None

    def _tick(self) -> int:
        self._clock += 1
        return self._clock
