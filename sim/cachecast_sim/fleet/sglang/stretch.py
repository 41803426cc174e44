"""A stretch of decode steps in which nothing changes but time and length."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import pairwise


class Stretch:
    """Decode steps that started at `start_ns`; `ends_ns` are their ends relative to it.

    `planned` of them will run. `pages` were given out for them so far; they are given out at the
    end, or when somebody looks. `preempting`: requests had to give way to its first and only step.
    """

    __slots__ = ("ends_ns", "pages", "planned", "preempting", "start_ns")

    def __init__(self, start_ns: int, ends_ns: Sequence[int], preempting: bool) -> None:
        self.start_ns = start_ns
        self.ends_ns = ends_ns
        self.preempting = preempting
        self.planned = len(ends_ns)
        self.pages = 0

    @property
    def end_ns(self) -> int:
        """When the last planned step ends."""
        return self.start_ns + self.ends_ns[self.planned - 1]

    def started(self, now_ns: int) -> int:
        """How many steps have started by `now_ns`, the one that ends at `now_ns` the last of them.

        What arrives at the boundary between two steps comes before the second.
        """
        return min(bisect_left(self.ends_ns, now_ns - self.start_ns) + 1, self.planned)

    def later_gaps(self) -> Iterator[tuple[int, int]]:
        """(ns between two ends, how often) of the steps that ran, after the first end."""
        ends = self.ends_ns[: self.planned]
        if isinstance(ends, range):
            if len(ends) > 1:
                yield ends.step, len(ends) - 1
        else:
            yield from ((end - before, 1) for before, end in pairwise(ends))
