"""One vLLM server without a clock: who is in the next step, and what the step leaves behind.

The rules are those of vLLM 0.32.0's scheduler (serving-semantics): running before waiting, one
token budget, chunked prefill, no admission in a step that preempted. Steps in which nothing can
change but the decoding jobs' lengths are taken as one stretch.
"""

from collections import deque
from collections.abc import Callable, Sequence

from cachecast_sim.fleet.gaps import GapCounts, Gaps
from cachecast_sim.fleet.job import Job
from cachecast_sim.fleet.tiers import TierStack
from cachecast_sim.fleet.vllm.admission import admit
from cachecast_sim.fleet.vllm.beside import Beside, Owing
from cachecast_sim.fleet.vllm.chunks import chunk_ends
from cachecast_sim.fleet.vllm.decoding import DecodeGroup
from cachecast_sim.fleet.vllm.job_blocks import JobBlocks
from cachecast_sim.fleet.vllm.pool import BlockPool
from cachecast_sim.fleet.vllm.scarcity import schedule_scarce
from cachecast_sim.fleet.vllm.step import Prefills, StepPlan
from cachecast_sim.fleet.vllm.transfers import Receive, Transfers
from cachecast_sim.latency.model import LatencyModel

OnFinish = Callable[[Job, int], None]  # (job, now_ns)


class VllmServer:
    """A server's scheduler, block pool and decode group.

    At most one job has a prefill that is cut by the token budget, and it is the last of the running
    ones: whoever is admitted after it would have needed budget that it left. That asks for
    `max_batch_tokens` >= `max_seqs`, which vLLM asks for too.

    `hand_over` takes jobs whose prefill is done (a server that only prefills); `receive` fetches
    the blocks of such a job (a server that only decodes).
    """

    def __init__(
        self, block_tokens: int, usable_blocks: int, max_batch_tokens: int, max_seqs: int,
        latency: LatencyModel, on_finish: OnFinish, *, ttl_ns: int | None = None,
        tiers: TierStack | None = None, hand_over: OnFinish | None = None,
        receive: Receive | None = None, beside: Beside | None = None,
    ) -> None:  # fmt: skip
        if max_batch_tokens < max_seqs:
            raise ValueError(
                f"max_batch_tokens is {max_batch_tokens}, expected >= {max_seqs} (seqs)"
            )
        self.block_tokens = block_tokens
        self.max_batch_tokens, self.max_seqs = max_batch_tokens, max_seqs
        self.pool = BlockPool(usable_blocks, None if tiers is None else tiers.evicted)
        self.blocks = JobBlocks(self.pool, block_tokens, ttl_ns, tiers)
        self.group = DecodeGroup(block_tokens)
        self.waiting: deque[Job] = deque()
        self.running: dict[Job, None] = {}
        self._gaps = Gaps()
        self.steps = self.preemptions = 0
        self._latency = latency
        self._on_finish = on_finish
        self._hand_over = hand_over
        self._tiers = tiers
        self._alone = tiers is None and hand_over is None and receive is None
        self.transfers = Transfers(self.blocks, tiers, receive)
        self.prefills, self._plan = Prefills(), StepPlan()
        self.beside = Beside() if beside is None else beside
        self._number, self._last_ns = self.beside.join()
        self._look_ns, self._owes = 0, False
        self.admitted = 0

    def fits(self, job: Job) -> bool:
        """Whether the job's K and V can ever be in one place at once; the last token has none.

        A server that only prefills asks for the output too: the one that decodes is as large, and
        would refuse the job while its blocks wait here to be fetched.
        """
        tokens = job.prompt_tokens + job.output_tokens - 1
        return -(-tokens // self.block_tokens) <= self.pool.usable_blocks

    def submit(self, job: Job, now_ns: int) -> int | None:
        """Queue a job. When `advance` must be called, if that is earlier than was said before.

        A job that can never fit would block the queue for ever: it is rejected at once.
        """
        if not self.fits(job):
            job.status = "rejected"
            self._on_finish(job, now_ns)
            return None
        self.waiting.append(job)
        plan = self._plan
        if not plan.busy:
            return now_ns
        full = len(self.waiting) > 1 or len(self.running) >= self.max_seqs
        if plan.ends is None or plan.chunk or full:
            return None  # nothing can change before the end of what runs
        # a boundary of this very time that has passed is none for who comes now
        return plan.cut(now_ns + self.beside.passed(self._number, now_ns))

    def advance(self, now_ns: int) -> int | None:
        """At a step's end: what it leaves behind, then the next step. Its end, None if idle."""
        if self._tiers is not None:
            self._tiers.now_ns = now_ns
        self._last_ns[self._number] = now_ns
        if self._plan.busy:
            self._end(now_ns)
        return self._schedule(now_ns)

    def settle(self, now_ns: int) -> None:
        """Take the blocks of all steps that have begun, for somebody who looks into the pool."""
        plan = self._plan
        if plan.busy and plan.ends is not None:
            begun = plan.begun(now_ns, lambda: self.beside.passed(self._number, now_ns))
            if begun > plan.computed:
                self._go_on(begun)

    def look_at(self, at_ns: int) -> int | None:
        """Somebody asks for `load` at the first boundary at that time or later. When `advance` must
        be called, if that is earlier than was said before."""
        self._look_ns = at_ns
        plan = self._plan
        return plan.cut(at_ns) if plan.busy and plan.ends is not None else None

    @property
    def jobs(self) -> int:
        """Jobs that wait or run here."""
        return len(self.waiting) + len(self.running)

    def load(self) -> tuple[int, int, int]:
        """Jobs that wait, jobs that run, blocks that jobs hold; at a step boundary."""
        if self._plan.computed == 0:
            self._go_on(1)
        held = self.pool.usable_blocks - self.pool.free_blocks
        return len(self.waiting), len(self.running), held

    @property
    def gaps(self) -> dict[int, int]:
        """Nanoseconds between two tokens of a job: how often."""
        return self.counted_gaps().as_dict()

    def counted_gaps(self) -> GapCounts:
        """The same as arrays."""
        return self._gaps.counted()

    @property
    def evicted_blocks(self) -> int:
        """Blocks that lost their content for want of room."""
        return self.pool.evicted_blocks

    def matched_tokens(self, job: Job, now_ns: int) -> int:
        """Prompt tokens at the front of `job` that the pool holds at this moment."""
        first, partial = job.path[0][0], self.prefills.partial
        begun = partial is not None and partial.path[0][0] is first
        if not (begun or self.pool.holds(first) or self.group.fills or self.blocks.expires):
            return 0  # steps that have begun since only evict, and fill nothing of it
        self.settle(now_ns)
        return self.blocks.matched(job, now_ns)

    def let_go(self, job: Job, now_ns: int) -> int | None:
        """The blocks of a job that was handed over have arrived elsewhere. When to `advance`."""
        self.transfers.let_go(job, now_ns)
        return now_ns if self.waiting and not self._plan.busy else None

    def _end(self, now_ns: int) -> None:
        """The step or stretch ends: tokens appear, jobs finish or begin to decode."""
        group, plan = self.group, self._plan
        if plan.ends is not None:
            if plan.chunk:
                self._go_on(plan.planned)
            elif plan.planned > plan.computed:
                self._decode(plan.planned - plan.computed)
            if self._owes:
                del self.beside.owing[self._number]
                self._owes = False
            self._latency.taken(plan.planned)
        self.steps += plan.planned
        if group.jobs:  # each got a token at the end of each step
            plan.count_gaps(self._gaps, len(group.jobs))
            for job in group.finished():
                self._finish(job, group.leave(job), now_ns)
        for job in self.prefills.completing if self.prefills.requests else ():
            job.generated += 1
            if job.first_token_ns is None:
                job.first_token_ns = now_ns
            else:  # a readmitted job goes on where it was preempted
                self._gaps.add(now_ns - job.last_token_ns, 1)
            if job.generated >= job.output_tokens:
                self._finish(job, job.computed, now_ns)
            elif self._hand_over is not None:
                self.transfers.give_away(job)
                del self.running[job]
                self._hand_over(job, now_ns)
            else:
                group.join(job, job.computed)

    def _schedule(self, now_ns: int) -> int | None:
        if self.transfers.arrivals:
            self._use_arrived(now_ns)
        group, prefills = self.group, self.prefills
        if prefills.requests:
            prefills.clear()
        decodes, partial = len(group.jobs), prefills.partial
        context = group.context + decodes
        budget = self.max_batch_tokens - decodes
        if partial is not None and budget < partial.remaining and self._alone:
            ends = chunk_ends(partial, budget, group, self.blocks, self._latency)
            if ends is not None:
                return self._begin_chunks(now_ns, partial, budget, ends)
        chunk = 0
        decode_blocks = needed = group.blocks_needed(1) if decodes else 0
        if partial is not None:
            chunk = min(partial.remaining, budget)
            needed += self.blocks.needed(partial, chunk)
        if needed and needed > self.pool.free_blocks:
            return self._begin(now_ns, *schedule_scarce(self, now_ns))
        if decodes:
            self._decode(1, decode_blocks)
        if partial is not None:
            budget -= self.prefill(partial, chunk)
        if budget and (self.waiting or self.transfers.loaded):
            admit(self, now_ns, budget)
        if prefills.requests:
            return self._begin(now_ns, decodes, context)
        if decodes:
            return self._begin_stretch(now_ns, decodes, context)
        self._plan.busy = False
        return self.transfers.next_ns

    def _begin(self, now_ns: int, decodes: int, context: int) -> int:
        """A single step with whatever was scheduled."""
        work = self.prefills
        duration_ns = self._latency.step_ns(
            work.tokens, work.requests, work.pairs, decodes, context
        )
        return self._plan.single(now_ns, duration_ns)

    def _begin_chunks(self, now_ns: int, job: Job, chunk: int, ends: Sequence[int]) -> int:
        """The next steps of a long prompt. Where they end."""
        self._owe(job)
        return self._plan.chunks(now_ns, ends, chunk, self._look_ns)

    def _owe(self, job: Job | None) -> None:
        """The stretch that begins fills blocks of `job`, or of any job that decodes."""
        self.beside.owing[self._number] = Owing(self.settle, job)
        self._owes = True

    def _begin_stretch(self, now_ns: int, decodes: int, context: int) -> int:
        """As many decode steps as pass without a finish, a preemption or an admission."""
        group = self.group
        steps = group.steps_within(self.pool.free_blocks, group.next_finish()) + 1
        if group.fills and self.waiting and len(self.running) < self.max_seqs:
            steps = min(steps, group.next_fill())  # a new hit may let the waiting one in
        if group.fills:
            self._owe(None)
        ends = self._latency.decode_ends_ns(decodes, context, steps)
        return self._plan.stretch(now_ns, ends, self.transfers.next_ns, self._look_ns)

    def _go_on(self, begun: int) -> None:
        """More steps of a stretch have begun, so many in all: the blocks of them all."""
        chunk, steps = self._plan.chunk, begun - self._plan.computed
        self._decode(steps)
        if chunk:
            assert self.prefills.partial is not None, "a chunk is of a prompt that goes on"
            self.blocks.compute(self.prefills.partial, steps * chunk)

    def _decode(self, steps: int, needed: int | None = None) -> None:
        """The decoding jobs' next steps: their blocks (`needed`), and hashes of full ones."""
        group = self.group
        if group.jobs:
            needed = group.blocks_needed(steps) if needed is None else needed
            if needed:
                self.pool.take(needed)
            if group.fills:
                for step in range(group.steps, group.steps + steps):
                    for job in group.filling(step):
                        self.blocks.fill(job, job.computed + step + 1 - job.joined_step)
            group.steps += steps
            group.context += steps * len(group.jobs)
        self._plan.computed += steps

    def prefill(self, job: Job, tokens: int) -> int:
        """`job` computes its next `tokens` tokens in this step. So many."""
        self.blocks.compute(job, tokens)
        self.prefills.add(job, tokens)
        return tokens

    def _use_arrived(self, now_ns: int) -> None:
        for job in self.transfers.arrived(now_ns):
            if job.remaining:
                self.transfers.loaded.append(job)
            else:
                self.group.join(job, job.computed)

    def _finish(self, job: Job, computed: int, now_ns: int) -> None:
        job.blocks = -(-computed // self.block_tokens)
        self.blocks.release(job, computed, now_ns)
        del self.running[job]
        job.status = "ok"
        job.end_ns = now_ns
        self._on_finish(job, now_ns)
