"""An SGLang server that runs one step after the other, over the flat cache: the server's oracle."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from sim.slow_radix import Prefix, SlowRadix

StepNs = Callable[[int, int, int, int, int], int]


@dataclass
class SlowJob:
    """`ids`: one for each whole page of prompt and output."""

    arrival_ns: int
    prompt: int
    output: int
    ids: Prefix
    made: int = 0  # output so far
    computed: int = 0  # tokens
    row: int = 0  # pages in use
    shared: int = 0  # of them the tree's
    hits: list[int] = field(default_factory=list)
    preempted: int = 0
    scheduled: int | None = None
    tokens_at: list[int] = field(default_factory=list)


class SlowServer:
    """Prefill first, else one decode step. The ratio is (first, least, steps)."""

    def __init__(
        self, pages: int, page: int, budget: int, seqs: int, ratio: tuple[Fraction, Fraction, int],
        step_ns: StepNs,
    ) -> None:  # fmt: skip
        self.cache = SlowRadix(pages)
        self.page, self.budget, self.seqs, self.step_ns = page, budget, seqs, step_ns
        self.first, self.least, self.falls = ratio
        self.ratio = self.first
        self.waiting: list[SlowJob] = []
        self.running: list[SlowJob] = []
        self.cut: SlowJob | None = None
        self.full = False
        self.steps = 0

    def serve(self, jobs: Sequence[SlowJob]) -> None:
        now, arrived = 0, 0
        while True:
            while arrived < len(jobs) and jobs[arrived].arrival_ns <= now:
                self.waiting.append(jobs[arrived])
                arrived += 1
            batch = self.fill(now)
            if batch:
                now = self.prefill(batch, now)
            elif self.running:
                now = self.decode(now)
            elif arrived < len(jobs):
                now = jobs[arrived].arrival_ns
            else:
                return

    def fill(self, now: int) -> list[tuple[SlowJob, int]]:
        """(job, tokens) of the next prefill step."""
        if not self.running:
            self.full = False
        if self.cut is None and (self.full or not self.waiting):
            return []
        if self.cut is None and len(self.running) >= self.seqs:
            self.full = True
            return []
        batch: list[tuple[SlowJob, int]] = []
        reserved = self.ratio * sum(min(job.output - job.made, 4096) for job in self.running)
        budget = self.budget

        def spare() -> Fraction:
            return (self.cache.free + self.cache.evictable) * self.page - reserved

        if self.cut is not None:
            job = self.cut
            left = job.prompt + job.made - job.computed
            room = min(budget, int(spare()))
            tokens = min(left, room if room > 0 else budget)
            batch.append((job, tokens))
            budget -= self.up(tokens)
            reserved += self.up(tokens) + self.page
            if tokens == left:
                reserved += min(job.output, 4096)
                self.cut = None
        while self.waiting and not (spare() > 0 and budget <= 0):
            if self.full or len(batch) >= self.seqs - len(self.running):
                self.full = True
                break
            job = self.waiting[0]
            most = (job.prompt + job.made - 1) // self.page
            job.shared = job.row = self.cache.match(job.ids[:most])
            self.cache.lock(job.ids[: job.shared])
            job.computed = job.shared * self.page
            left = job.prompt + job.made - job.computed
            fits = left + min(job.output - job.made, 4096) + self.page < spare()
            if not fits and (batch or self.running):
                self.cache.lock(job.ids[: job.shared], -1)
                self.full = True
                break
            whole = self.up(left) <= budget
            tokens = left if whole else budget // self.page * self.page
            if tokens <= 0:
                self.cache.lock(job.ids[: job.shared], -1)
                break
            self.waiting.pop(0)
            batch.append((job, tokens))
            job.hits.append(job.computed)
            job.scheduled = now if job.scheduled is None else job.scheduled
            budget -= self.up(tokens)
            reserved += self.up(tokens) + self.page
            if whole:
                reserved += min(job.output, 4096)
            else:
                self.cut = job
            if spare() <= 0:
                self.full = True
                break
            if budget <= 0:
                break
        return batch

    def prefill(self, batch: list[tuple[SlowJob, int]], now: int) -> int:
        rows = [-(-(job.computed + tokens) // self.page) for job, tokens in batch]
        assert self.cache.take(sum(rows) - sum(job.row for job, _ in batch))
        pairs = 0
        for (job, tokens), row in zip(batch, rows, strict=True):
            job.row = row
            pairs += sum(job.computed + number for number in range(1, tokens + 1))
        now += self.step_ns(sum(tokens for _, tokens in batch), len(batch), pairs, 0, 0)
        self.steps += 1
        stay = []
        for job, tokens in batch:
            job.computed += tokens
            if job is not self.cut:
                self.token(job, now)
                if job.made < job.output:
                    self.checkpoint(job)
                    stay.append(job)
                else:
                    self.finish(job)
        if self.cut is not None:
            self.checkpoint(self.cut)
        if len(stay) < len(batch) or not self.running:
            self.full = False
        self.running += stay
        return now

    def decode(self, now: int) -> int:
        if self.cache.take(self.new_pages()):
            self.ratio = max(self.ratio - (self.first - self.least) / self.falls, self.least)
        else:
            self.preempt()
            assert self.cache.take(self.new_pages())
        for job in self.running:
            job.row = -(-(job.computed + 1) // self.page)
        lengths = sum(job.prompt + job.made for job in self.running)
        now += self.step_ns(0, 0, 0, len(self.running), lengths)
        self.steps += 1
        stay = []
        for job in self.running:
            job.computed += 1
            self.token(job, now)
            if job.made < job.output:
                stay.append(job)
            else:
                self.finish(job)
        if len(stay) < len(self.running):
            self.full = False
        self.running = stay
        return now

    def new_pages(self) -> int:
        return sum(1 for job in self.running if job.computed % self.page == 0)

    def preempt(self) -> None:
        self.running.sort(key=lambda job: (job.made, -job.prompt), reverse=True)
        while True:
            job = self.running.pop()
            self.release(job)
            job.preempted += 1
            self.waiting.append(job)
            ahead = 20 * len(self.running)
            while self.cache.free * self.page < ahead and self.cache.leaves():
                self.cache.evict(1)
            self.cache.evict(self.new_pages() - self.cache.free)
            if self.cache.free >= self.new_pages():
                break
        self.full = False
        if self.first != self.least:
            made = sum(job.made + 20 for job in self.running)
            wanted = sum(job.output for job in self.running)
            self.ratio = min(Fraction(1), Fraction(made, wanted + 1))

    def checkpoint(self, job: SlowJob) -> None:
        ids = job.ids[: job.computed // self.page]
        there = self.cache.insert(ids)
        prompt = job.prompt // self.page
        if 0 < prompt < len(ids):
            self.cache.insert(ids[:prompt])
        self.cache.give_back(there - job.shared)
        assert self.cache.match(ids) == len(ids)
        self.cache.lock(job.ids[: job.shared], -1)
        self.cache.lock(ids)
        job.shared = len(ids)

    def release(self, job: SlowJob) -> None:
        self.cache.give_back(job.row - job.shared)
        self.cache.lock(job.ids[: job.shared], -1)
        job.row = job.shared = job.computed = 0

    def finish(self, job: SlowJob) -> None:
        self.checkpoint(job)
        self.release(job)

    def token(self, job: SlowJob, now: int) -> None:
        job.made += 1
        job.tokens_at.append(now)

    def up(self, tokens: int) -> int:
        return -(-tokens // self.page) * self.page
