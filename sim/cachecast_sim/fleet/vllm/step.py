"""The step that a server runs: what it prefills, when it ends, and how far a stretch of them is."""

from bisect import bisect_left
from collections.abc import Callable, Sequence

from cachecast_sim.fleet.gaps import Gaps
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
    `chunk`: tokens of one prompt that each step of a stretch computes besides.
    """

    def __init__(self) -> None:
        self.busy = False
        self.started_ns = 0
        self.planned = 1
        self.computed = 1
        self.chunk = 0
        self.ends: Sequence[int] | None = None
        self._duration_ns = 0

    def single(self, now_ns: int, duration_ns: int) -> int:
        """A step that begins now. Its end."""
        self.busy, self.ends, self.planned, self.computed, self.chunk = True, None, 1, 1, 0
        self.started_ns, self._duration_ns = now_ns, duration_ns
        return now_ns + duration_ns

    def stretch(
        self, now_ns: int, ends: Sequence[int], changes_ns: int | None, looked_at_ns: int
    ) -> int:
        """Decode steps that begin now, up to the first end at or after `changes_ns`, when something
        joins, or `looked_at_ns` if that is to come. The end of the stretch."""
        self.busy, self.ends, self.planned, self.computed = True, ends, len(ends), 1
        self.started_ns, self.chunk = now_ns, 0
        end_ns = now_ns + ends[-1]
        if now_ns < looked_at_ns < end_ns:
            end_ns = self.cut(looked_at_ns)
        if changes_ns is not None:
            end_ns = self.cut(changes_ns)
        return end_ns

    def chunks(self, now_ns: int, ends: Sequence[int], chunk: int, looked_at_ns: int) -> int:
        """Steps that begin now and each compute `chunk` tokens of one prompt, up to the first end
        at or after `looked_at_ns` if that is to come. That end; nobody can join before it. The
        blocks of none are taken yet."""
        end_ns = self.stretch(now_ns, ends, None, looked_at_ns)
        self.chunk, self.computed = chunk, 0
        return end_ns

    def cut(self, at_ns: int) -> int:
        """The stretch ends with the first step that ends at `at_ns` or later. That end."""
        assert self.ends is not None, "only a stretch can be cut"
        self.planned = min(self.planned, bisect_left(self.ends, at_ns - self.started_ns) + 1)
        return self.started_ns + self.ends[self.planned - 1]

    def begun(self, now_ns: int, passed: Callable[[], bool]) -> int:
        """Steps that have begun before `now_ns`, and the one that begins then if its boundary has
        `passed`."""
        ends = self.ends
        if ends is None:
            return 1
        after_ns, planned = now_ns - self.started_ns, self.planned
        number = bisect_left(ends, after_ns) + 1
        if number >= planned:
            return planned
        return number + 1 if ends[number - 1] == after_ns and passed() else number

    def count_gaps(self, gaps: Gaps, jobs: int) -> None:
        """Each of so many jobs got a token at the end of each step that ran."""
        ends, counts = self.ends, gaps.counts
        if ends is None:
            counts[self._duration_ns] = counts.get(self._duration_ns, 0) + jobs
        elif isinstance(ends, range):
            counts[ends.step] = counts.get(ends.step, 0) + jobs * self.planned
        else:
            gaps.add_ends(ends[: self.planned], jobs)
