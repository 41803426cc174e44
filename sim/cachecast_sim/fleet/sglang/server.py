"""One SGLang server: requests in, steps of continuous batching, finished requests out.

What is SGLang's to the token (serving-semantics §1b, §1d): the look-up at input - 1 in whole pages,
locks, what is put into the tree after each prefill chunk and at the end, eviction by the shortfall
in whole leaves, what a preemption loses. What is a model of its scheduler, after the source of
0.5.23 with its default settings: prefill before decode and never in one step with it, the token
budget, the output set aside at admission, `batch_is_full` (once a request did not fit, nobody is
tried again until one leaves), who is preempted, and that it then joins the *back* of the queue.

Not modelled: the overlap of scheduling with the running step (here a step's results are known at
its end); eviction ahead of need, as SGLang evicts for one whole page a request where pages have
more than one token (§1d has the exact shortfall); the refresh of waiting prefixes, every 32nd
attempt; mixed chunks, priorities and every queue order but first come first served.
"""

from collections import deque
from collections.abc import Callable

from cachecast_sim.fleet.job import Job
from cachecast_sim.fleet.misses import explain
from cachecast_sim.fleet.sglang.active import Active
from cachecast_sim.fleet.sglang.decode import RatioNow, preempt, steps_that_fit
from cachecast_sim.fleet.sglang.group import DecodeGroup
from cachecast_sim.fleet.sglang.prefill import Chunk, PrefillStep, Room
from cachecast_sim.fleet.sglang.radix_cache import RadixCache
from cachecast_sim.fleet.sglang.seen import Seen
from cachecast_sim.fleet.sglang.settings import SglangSettings
from cachecast_sim.fleet.sglang.stretch import Stretch
from cachecast_sim.latency.model import LatencyModel

OnFinish = Callable[[Job, int], None]


class SglangServer:
    """Its state changes in `submit` and `advance` only; both are given the time.

    A step is a prefill step or a decode step; decode steps between which nothing can change are one
    stretch, with the same result as one after the other. `on_finish(job, now_ns)` is called once
    for each job, inside `submit` (status "rejected") or `advance`; it may submit. Jobs are cut into
    blocks of `page_tokens` tokens.
    """

    def __init__(
        self, settings: SglangSettings, latency: LatencyModel, on_finish: OnFinish
    ) -> None:
        self.cache = RadixCache(settings.pages)
        self.waiting: deque[Active] = deque()
        self.running = DecodeGroup(settings.page_tokens)
        self.gaps: dict[int, int] = {}  # ns between two tokens of a job: how often
        self.steps = self.preemptions = 0
        self._settings = settings
        self._latency = latency
        self._on_finish = on_finish
        self._seen = Seen()
        self._ratio = RatioNow(settings.new_token_ratio)
        self._unfinished: Active | None = None  # its prompt goes on in the next prefill step
        self._full = False  # nobody is tried until a request leaves
        self._chunks: list[Chunk] = []  # of the prefill step in work
        self._stretch: Stretch | None = None
        self._end_ns: int | None = None  # of the step or stretch in work
        self._in_advance = False

    def submit(self, job: Job, now_ns: int) -> int | None:
        """Queue a job; when `advance` must next be called, None where that stays as it was.

        A job that can never fit would block the queue for ever: it is rejected at once.
        """
        page_tokens = self._settings.page_tokens
        if -(-(job.prompt_tokens + job.output_tokens - 1) // page_tokens) > self.cache.total_pages:
            job.status = "rejected"
            self._on_finish(job, now_ns)
            return None
        self.waiting.append(Active(job, self.cache, self._seen, page_tokens))
        if self._in_advance:
            return None
        if self._end_ns is None:
            self._end_ns = now_ns
            return now_ns
        return self._cut(now_ns)

    def advance(self, now_ns: int) -> int | None:
        """End the step or stretch in work, start the next; its end, None when there is nothing."""
        assert self._end_ns in (None, now_ns), f"advance at {now_ns}, a step ends at {self._end_ns}"
        ended: list[Job] = []
        if self._stretch is not None:
            ended = self._end_stretch(self._stretch, now_ns)
        elif self._chunks:
            ended = self._end_prefill(now_ns)
        self._in_advance = True
        for job in ended:
            self._on_finish(job, now_ns)
        self._in_advance = False
        self._end_ns = self._start_prefill(now_ns)
        if self._end_ns is None and self.running:
            self._end_ns = self._start_stretch(now_ns)
        return self._end_ns

    def settle(self, now_ns: int) -> None:
        """Take the pages of all steps that have begun, for somebody who looks into the cache."""
        if self._stretch is not None:
            self._take_pages(self._stretch, self._stretch.started(now_ns))

    @property
    def jobs(self) -> int:
        """Jobs that wait or run here."""
        return len(self.waiting) + len(self.running) + len(self._chunks)

    def look_at(self, at_ns: int) -> None:
        """None: what is looked at are the ends of its steps and stretches."""

    def load(self) -> tuple[int, int, int]:
        """Jobs that wait, jobs that run, pages that jobs hold (those locked in the tree too)."""
        held = self.cache.total_pages - self.cache.free_pages - self.cache.evictable_pages
        return len(self.waiting), len(self.running) + len(self._chunks), held

    @property
    def evicted_blocks(self) -> int:
        """Pages that lost their content for want of room."""
        return self.cache.evicted_pages

    def matched_tokens(self, job: Job, now_ns: int) -> int:
        """Prompt tokens that the tree would give `job` at this moment; nothing becomes recent."""
        self.settle(now_ns)
        page_tokens = self._settings.page_tokens
        pages = (job.prompt_tokens - 1) // page_tokens
        return self.cache.peek(job.path, pages, None) * page_tokens

    def _cut(self, now_ns: int) -> int | None:
        """An arrival ends a stretch after the step in work, if it could be admitted then."""
        stretch = self._stretch
        if stretch is None or self._full or len(self.running) >= self._settings.most_running:
            return None
        started = stretch.started(now_ns)
        if started == stretch.planned:
            return None
        stretch.planned = started
        self._end_ns = stretch.end_ns
        return self._end_ns

    def _start_prefill(self, now_ns: int) -> int | None:
        """Take in who fits and start a prefill step; None if nobody does."""
        if not self.running:
            self._full = False
        if self._unfinished is None:
            if len(self.running) >= self._settings.most_running:
                self._full = True
            if self._full or not self.waiting:
                return None
        step = PrefillStep(self.cache, self._settings, self.running, self._ratio.value)
        if self._unfinished is not None:
            step.go_on(self._unfinished)
        self._admit(step, now_ns)
        self._unfinished = step.unfinished
        self._chunks = step.chunks
        return self._run_prefill(now_ns) if step.chunks else None

    def _admit(self, step: PrefillStep, now_ns: int) -> None:
        """First come, first served, up to the first that does not fit."""
        most = self._settings.most_running - len(self.running)
        while self.waiting and step.room is not Room.NO_BUDGET:
            if len(step.chunks) >= most:
                self._full = True
            if self._full:
                return
            active, before = self.waiting[0], len(step.chunks)
            room = step.add(active)
            if len(step.chunks) > before:
                self.waiting.popleft()
                self._note_admission(active, now_ns)
            if room is not Room.YES:
                if room is Room.NO_MEMORY:
                    self._full = bool(step.chunks or self.running)
                return

    def _note_admission(self, active: Active, now_ns: int) -> None:
        """Hits count when a request is admitted, once, and apart when it is admitted again."""
        job = active.job
        if job.scheduled_ns is None:
            job.scheduled_ns = now_ns
            job.hit_tokens = active.computed_tokens
            hit_pages = active.computed_tokens // self._settings.page_tokens
            explain(job, hit_pages, self._seen, self._settings.page_tokens)
        else:
            job.readmission_hit_tokens.append(active.computed_tokens)

    def _run_prefill(self, now_ns: int) -> int:
        page_tokens = self._settings.page_tokens
        rows = [
            -(-(chunk.active.computed_tokens + chunk.tokens) // page_tokens)
            for chunk in self._chunks
        ]
        held = sum(chunk.active.held().pages for chunk in self._chunks)
        found = self.cache.take(sum(rows) - held)
        assert found, f"{sum(rows) - held} pages for a prefill step were counted on"
        for chunk, pages in zip(self._chunks, rows, strict=True):
            chunk.active.held().grow(pages)
        tokens = sum(chunk.tokens for chunk in self._chunks)
        context = sum(chunk.context for chunk in self._chunks)
        return now_ns + self._latency.step_ns(tokens, len(self._chunks), context, 0, 0)

    def _end_prefill(self, now_ns: int) -> list[Job]:
        """Tokens appear, and what is computed goes into the tree; the jobs that end with it."""
        chunks, self._chunks = self._chunks, []
        self.steps += 1
        stay, ended = [], []
        for chunk in chunks:
            active = chunk.active
            active.computed_tokens += chunk.tokens
            if active is self._unfinished:
                continue
            self._note_token(active, now_ns)
            if active.tokens_to_come:
                active.checkpoint()
                stay.append(active)
            else:
                ended.append(self._finish(active, now_ns))
        if self._unfinished is not None:
            self._unfinished.checkpoint()
        # A batch that others join is full or not as before; one that starts anew is not.
        if len(stay) < len(chunks) or not self.running:
            self._full = False
        for active in stay:
            self.running.join(active)
        return ended

    def _note_token(self, active: Active, now_ns: int) -> None:
        """A prefill gave `active` a token: its first, or after a preemption the next."""
        job = active.job
        active.generated_tokens += 1
        if job.first_token_ns is None:
            job.first_token_ns = now_ns
        else:
            self._add_gaps(now_ns - job.last_token_ns, 1)
        job.last_token_ns = now_ns

    def _start_stretch(self, now_ns: int) -> int:
        """Decode until a request ends or the pages do; preempt if not even one step fits."""
        group = self.running
        steps = steps_that_fit(group, group.next_finish(), self.cache)
        preempting = steps == 0
        if preempting:
            out = preempt(group, self._settings.page_tokens, self.cache)
            self.waiting.extend(out)
            self.preemptions += len(out)
            self._ratio.estimate(list(group.members))
            self._full = False
            steps = 1
        ends = self._latency.decode_ends_ns(len(group), group.context_tokens, steps)
        self._stretch = Stretch(now_ns, ends, preempting)
        return self._stretch.end_ns

    def _take_pages(self, stretch: Stretch, steps: int) -> None:
        """Pages of the first `steps` steps, those given out already aside.

        Evicting for several steps at once drops the same leaves as evicting for one after the
        other: both stop at the first leaf in the order that covers the sum, and nothing else uses
        the tree meanwhile.
        """
        need = self.running.pages_for(steps) - stretch.pages
        found = self.cache.take(need)
        assert found, f"{need} pages for decoding were counted on and are not there"
        stretch.pages += need

    def _end_stretch(self, stretch: Stretch, now_ns: int) -> list[Job]:
        """The jobs that end with it."""
        steps, group = stretch.planned, self.running
        self._take_pages(stretch, steps)
        self._latency.taken(steps)
        self._stretch = None
        self.steps += steps
        if not stretch.preempting:
            self._ratio.steps += steps
        self._record_gaps(stretch)
        group.advance(steps, now_ns)
        ended = [self._finish(active, now_ns) for active in group.finished()]
        if ended:
            self._full = False
        return ended

    def _finish(self, active: Active, now_ns: int) -> Job:
        """Prompt and output but its last token, which was never computed, go into the tree."""
        active.checkpoint()
        active.release()
        active.job.status = "ok"
        active.job.end_ns = now_ns
        return active.job

    def _record_gaps(self, stretch: Stretch) -> None:
        """Every member got a token at each end; before the first it may have waited longer."""
        group = self.running
        first_ns = stretch.start_ns + stretch.ends_ns[0]
        for active in group.new_members:
            self._add_gaps(first_ns - active.job.last_token_ns, 1)
        if others := len(group) - len(group.new_members):
            self._add_gaps(first_ns - group.last_token_ns, others)
        for gap_ns, times in stretch.later_gaps():
            self._add_gaps(gap_ns, times * len(group))

    def _add_gaps(self, gap_ns: int, count: int) -> None:
        self.gaps[gap_ns] = self.gaps.get(gap_ns, 0) + count
