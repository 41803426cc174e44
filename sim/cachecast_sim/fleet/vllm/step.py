"""The step that a server runs: what it prefills, when it ends, and how far a stretch of them is."""

from bisect import bisect_left
from collections.abc import Sequence

from cachecast_sim.fleet.job import Job


class Prefills:
    """The prompts that a step works on: their tokens, how many they are, their attention pairs.

    `completing` are those that end with it; `partial` is cut by the token budget and goes on in the
    next step.
    """

    def __init__(self) -> None:
        self.completing: list[Job] = []
        self.partial: Job | None = None
        self.tokens = self.requests = self.pairs = 0

    def clear(self) -> None:
        """For the next step; the partial one stays."""
        if self.requests:
            self.completing = []
            self.tokens = self.requests = self.pairs = 0

    def add(self, job: Job, tokens: int) -> None:
        """`job` has just computed `tokens` tokens in this step."""
        self.tokens += tokens
        self.requests += 1
        before = job.computed - tokens
        self.pairs += tokens * before + tokens * (tokens + 1) // 2
        if job.remaining:
            self.partial = job
            return
        self.completing.append(job)
        if job is self.partial:
            self.partial = None


class StepPlan:
    """A running step, or a stretch of decode steps that ends where something can change.

    `planned` of its steps run, unless an arrival cuts it short; the blocks of the first `computed`
    are taken. `ends` are the ends of a stretch's steps after `started_ns`, None of a single step.
    """

    def __init__(self) -> None:
        self.busy = False
        self.started_ns = 0
        self.planned = 1
        self.computed = 1
        self.ends: Sequence[int] | None = None
        self._duration_ns = 0

    def single(self, now_ns: int, duration_ns: int) -> int:
        """A step that begins now. Its end."""
        self.busy, self.ends, self.planned, self.computed = True, None, 1, 1
        self.started_ns, self._duration_ns = now_ns, duration_ns
        return now_ns + duration_ns

    def stretch(self, now_ns: int, ends: Sequence[int], changes_ns: int | None) -> int:
        """Decode steps that begin now; at the first end at or after `changes_ns` something joins.
        The end of the stretch."""
        self.busy, self.ends, self.planned, self.computed = True, ends, len(ends), 1
        self.started_ns = now_ns
        if changes_ns is not None:
            self.cut(changes_ns)
        return now_ns + ends[self.planned - 1]

    def cut(self, at_ns: int) -> int:
        """The stretch ends with the first step that ends at `at_ns` or later. That end."""
        assert self.ends is not None, "only a stretch can be cut"
        self.planned = min(self.planned, bisect_left(self.ends, at_ns - self.started_ns) + 1)
        return self.started_ns + self.ends[self.planned - 1]

    def begun(self, now_ns: int) -> int:
        """Steps that have begun before `now_ns`."""
        if self.ends is None:
            return 1
        return min(bisect_left(self.ends, now_ns - self.started_ns) + 1, self.planned)

    def count_gaps(self, gaps: dict[int, int], jobs: int) -> None:
        """Each of so many jobs got a token at the end of each step that ran: `gaps` counts how
        often which time (ns) lay between two of them."""
        ends = self.ends
        if ends is None:
            gaps[self._duration_ns] = gaps.get(self._duration_ns, 0) + jobs
        elif isinstance(ends, range):
            gaps[ends.step] = gaps.get(ends.step, 0) + jobs * self.planned
        else:
            before = 0
            for end in ends[: self.planned]:
                gaps[end - before] = gaps.get(end - before, 0) + jobs
                before = end
