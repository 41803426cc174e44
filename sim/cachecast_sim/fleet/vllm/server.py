"""One vLLM server without a clock: who is in the next step, and what the step leaves behind.

The rules are those of vLLM 0.32.0's scheduler (serving-semantics): running before waiting, one
token budget, chunked prefill, no admission in a step that preempted. Steps in which nothing can
change but the decoding jobs' lengths are taken as one stretch.
"""

from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Sequence

from cachecast_sim.fleet.job import Job
from cachecast_sim.fleet.misses import explain
from cachecast_sim.fleet.vllm.decoding import DecodeGroup
from cachecast_sim.fleet.vllm.pool import BlockPool
from cachecast_sim.latency.model import LatencyModel

OnFinish = Callable[[Job, int], None]


class VllmServer:
    """A server's scheduler, block pool and decode group.

    At most one job has a prefill that is cut by the token budget, and it is the last of the running
    ones: whoever is admitted after it would have needed budget that it left. That asks for
    `max_batch_tokens` >= `max_seqs`, which vLLM asks for too.
    """

    def __init__(
        self, block_tokens: int, usable_blocks: int, max_batch_tokens: int, max_seqs: int,
        latency: LatencyModel, on_finish: OnFinish,
    ) -> None:  # fmt: skip
        self.block_tokens = block_tokens
        self.max_batch_tokens = max_batch_tokens
        self.max_seqs = max_seqs
        self.pool = BlockPool(usable_blocks)
        self.group = DecodeGroup(block_tokens)
        self.waiting: deque[Job] = deque()
        self.running: dict[Job, None] = {}
        self.gaps: dict[int, int] = {}  # ns between two tokens of a job: how often
        self.steps = 0
        self.preemptions = 0
        self.busy = False
        self._latency = latency
        self._on_finish = on_finish
        self._partial: Job | None = None
        self._completing: list[Job] = []  # their prefill ends with the running step
        self._admitted = 0
        self._started_ns = 0
        self._duration_ns = 0
        # of a stretch: its ends after its start, how many of its steps run, how many are computed
        self._ends: Sequence[int] | None = None
        self._planned = 1
        self._computed = 1
        # what the step being scheduled prefills
        self._tokens = self._requests = self._pairs = 0

    def submit(self, job: Job, now_ns: int) -> int | None:
        """Queue a job. When `advance` must be called, if that is earlier than was said before.

        A job that can never fit would block the queue for ever: it is rejected at once.
        """
        size = self.block_tokens
        if -(-(job.prompt_tokens + job.output_tokens - 1) // size) > self.pool.usable_blocks:
            job.status = "rejected"
            self._on_finish(job, now_ns)
            return None
        self.waiting.append(job)
        if not self.busy:
            return now_ns
        if self._ends is None or len(self.waiting) > 1 or len(self.running) >= self.max_seqs:
            return None  # nothing can change before the end of what runs
        self._planned = bisect_left(self._ends, now_ns - self._started_ns) + 1
        return self._started_ns + self._ends[self._planned - 1]

    def advance(self, now_ns: int) -> int | None:
        """At a step's end: what it leaves behind, then the next step. Its end, None if idle."""
        if self.busy:
            self._end(now_ns)
        return self._schedule(now_ns)

    def settle(self, now_ns: int) -> None:
        """Take the blocks of all steps that have begun, for somebody who looks into the pool."""
        if self.busy and self._ends is not None:
            begun = bisect_left(self._ends, now_ns - self._started_ns) + 1
            self._compute(min(begun, self._planned) - self._computed)

    def _end(self, now_ns: int) -> None:
        """The step or stretch ends: tokens appear, jobs finish or begin to decode."""
        group = self.group
        if self._ends is not None:
            self._compute(self._planned - self._computed)
            self._latency.taken(self._planned)
        self.steps += self._planned
        if group.jobs:
            self._record_gaps(len(group.jobs))
            for job in group.finished():
                self._finish(job, group.leave(job), now_ns)
        for job in self._completing:
            job.generated += 1
            if job.first_token_ns is None:
                job.first_token_ns = now_ns
            else:  # a readmitted job goes on where it was preempted
                self._add_gaps(now_ns - job.last_token_ns, 1)
            if job.generated >= job.output_tokens:
                self._finish(job, job.computed, now_ns)
            else:
                group.join(job, job.computed)

    def _schedule(self, now_ns: int) -> int | None:
        group, pool, partial = self.group, self.pool, self._partial
        self._completing = []
        self._tokens = self._requests = self._pairs = 0
        decodes = len(group.jobs)
        context = group.context + decodes
        budget = self.max_batch_tokens - decodes
        chunk = needed = 0
        if decodes:
            needed = group.blocks_needed(1)
        if partial is not None:
            chunk = min(partial.remaining, budget)
            needed += self._blocks_for(partial, chunk)
        if needed > pool.free_blocks:
            return self._schedule_scarce(now_ns)
        if decodes:
            self._compute(1)
        if partial is not None and chunk:
            self._prefill(partial, chunk)
            budget -= chunk
        if self.waiting and budget:
            self._admit(now_ns, budget)
        if self._requests:
            return self._begin(now_ns, decodes, context)
        if decodes:
            return self._begin_stretch(now_ns, decodes, context)
        self.busy = False
        return None

    def _begin(self, now_ns: int, decodes: int, context: int) -> int:
        """A single step with whatever was scheduled."""
        self.busy, self._ends, self._planned = True, None, 1
        self._started_ns = now_ns
        self._duration_ns = self._latency.step_ns(
            self._tokens, self._requests, self._pairs, decodes, context
        )
        return now_ns + self._duration_ns

    def _begin_stretch(self, now_ns: int, decodes: int, context: int) -> int:
        """As many decode steps as pass without a finish, a preemption or an admission."""
        group = self.group
        steps = group.steps_within(self.pool.free_blocks, group.next_finish()) + 1
        if group.fills_known_blocks and self.waiting and len(self.running) < self.max_seqs:
            steps = min(steps, group.next_fill())  # a new hit may let the waiting one in
        ends = self._latency.decode_ends_ns(decodes, context, steps)
        self.busy, self._ends, self._planned, self._computed = True, ends, steps, 1
        self._started_ns = now_ns
        return now_ns + ends[steps - 1]

    def _compute(self, steps: int) -> None:
        """The decoding jobs' next steps: their blocks, and the hashes of those that are full."""
        group = self.group
        if steps > 0:
            self.pool.take(group.blocks_needed(steps))
            if group.fills_known_blocks:
                for step in range(group.steps, group.steps + steps):
                    for job in group.filling(step):
                        self._fill(job, job.computed + step + 1 - job.joined_step)
            group.advance(steps)
            self._computed += steps

    def _prefill(self, job: Job, tokens: int) -> None:
        """`job` computes its next `tokens` tokens in this step."""
        before = job.computed
        blocks = self._blocks_for(job, tokens)
        self.pool.take(blocks)
        job.blocks += blocks
        job.computed = before + tokens
        job.remaining -= tokens
        self._fill(job, job.computed)
        self._tokens += tokens
        self._requests += 1
        self._pairs += tokens * before + tokens * (tokens + 1) // 2
        if job.remaining:
            self._partial = job
        else:
            self._completing.append(job)
            if job is self._partial:
                self._partial = None

    def _blocks_for(self, job: Job, tokens: int) -> int:
        blocks = -(-(job.computed + tokens) // self.block_tokens) - job.blocks
        return blocks if blocks > 0 else 0

    def _fill(self, job: Job, computed: int) -> None:
        whole = computed // self.block_tokens
        if whole > job.filled_blocks:
            self.pool.fill(job.held, job.path, job.filled_blocks, whole)
            job.filled_blocks = whole

    def _admit(self, now_ns: int, budget: int) -> None:
        """Waiting jobs in their order, until one does not fit: it blocks those behind it."""
        pool, size, waiting, running = self.pool, self.block_tokens, self.waiting, self.running
        while waiting and budget and len(running) < self.max_seqs:
            job = waiting[0]
            total = job.prompt_tokens + job.generated
            found, hit, free = pool.find(job.path, (total - 1) // size)
            if -(-total // size) - hit + free > pool.free_blocks:
                return
            waiting.popleft()
            if job.scheduled_ns is None:
                job.scheduled_ns = now_ns
                job.hit_tokens = hit * size
                explain(job, hit, pool, size)
            else:
                job.readmission_hit_tokens.append(hit * size)
            job.held = pool.touch(found)
            job.blocks = job.filled_blocks = hit
            job.computed = hit * size
            job.remaining = total - job.computed
            job.order = self._admitted
            self._admitted += 1
            running[job] = None
            chunk = min(job.remaining, budget)
            self._prefill(job, chunk)
            budget -= chunk

    def _schedule_scarce(self, now_ns: int) -> int:
        """Too few free blocks for all: one by one in running order, the last ones make room."""
        group, pool = self.group, self.pool
        before = self.preemptions
        budget = self.max_batch_tokens
        for job in list(self.running):
            if job not in self.running:
                continue
            decoding = job in group.jobs
            tokens = 1 if decoding else min(job.remaining, budget)
            if decoding:
                needed = 0 if group.computed(job) % self.block_tokens else 1
            else:
                needed = self._blocks_for(job, tokens)
            while needed > pool.free_blocks and job in self.running:
                self._preempt(next(reversed(self.running)), now_ns)
            if job not in self.running:
                break
            budget -= tokens
            if not decoding:
                self._prefill(job, tokens)
                continue
            pool.take(needed)
            if job.filled_blocks < job.known_blocks:
                self._fill(job, group.computed(job) + 1)
        decodes = len(group.jobs)
        context = group.context + decodes
        group.advance(1)
        assert self.preemptions > before, "blocks were scarce, yet nobody made room"
        return self._begin(now_ns, decodes, context)

    def _preempt(self, job: Job, now_ns: int) -> None:
        if job in self.group.jobs:
            computed = self.group.leave(job)
            job.blocks = -(-computed // self.block_tokens)
            job.last_token_ns = now_ns
        else:
            computed = job.computed
            self._partial = None
        self._release(job, computed, now_ns)
        self.waiting.appendleft(job)
        job.preemptions += 1
        self.preemptions += 1

    def _finish(self, job: Job, computed: int, now_ns: int) -> None:
        job.blocks = -(-computed // self.block_tokens)
        self._release(job, computed, now_ns)
        job.status = "ok"
        job.end_ns = now_ns
        self._on_finish(job, now_ns)

    def _release(self, job: Job, computed: int, now_ns: int) -> None:
        self._fill(job, computed)
        self.pool.release(job.held, job.blocks - job.filled_blocks, now_ns)
        del self.running[job]
        job.held = []
        job.computed = job.blocks = job.filled_blocks = 0

    def _record_gaps(self, jobs: int) -> None:
        """Every decoding job got a token at the end of each step."""
        ends = self._ends
        if ends is None:
            self._add_gaps(self._duration_ns, jobs)
        elif isinstance(ends, range):
            self._add_gaps(ends.step, jobs * self._planned)
        else:
            before = 0
            for end in ends[: self._planned]:
                self._add_gaps(end - before, jobs)
                before = end

    def _add_gaps(self, gap_ns: int, count: int) -> None:
        self.gaps[gap_ns] = self.gaps.get(gap_ns, 0) + count
