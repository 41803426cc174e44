"""The jobs of one server that decode: all step together, so a counter stands for all of them."""

from heapq import heappop, heappush

from cachecast_sim.fleet.job import Job


class DecodeGroup:
    """Jobs that compute one token each in every step, and what they will need, without looking at
    them one by one.

    `steps` counts the group's steps so far. A job with `computed` tokens at its join has
    computed `computed + steps - joined_step` now. It needs a new block in the steps in
    which that is a multiple of the block size, which comes back every `block_tokens` steps.
    """

    def __init__(self, block_tokens: int) -> None:
        self.block_tokens = block_tokens
        self.steps = 0
        self.context = 0  # sum of the computed tokens of all
        self.jobs: dict[Job, None] = {}
        self._needs = [0] * block_tokens  # per phase: jobs that begin a block in such a step
        self._finishes: list[tuple[int, int, Job]] = []
        # jobs whose output is known, by the phase in which a block of theirs is full; empty if none
        self.fills: dict[int, dict[Job, None]] = {}

    def __len__(self) -> int:
        return len(self.jobs)

    def computed(self, job: Job) -> int:
        """Tokens of `job` whose K and V are computed."""
        return job.computed + self.steps - job.joined_step

    def join(self, job: Job, computed: int) -> None:
        """`job` decodes from the next step on; it has generated at least one token."""
        steps = self.steps
        job.joined_step, job.computed = steps, computed
        job.finish_step = steps + job.output_tokens - job.generated
        self.jobs[job] = None
        self.context += computed
        self._needs[(steps - computed) % self.block_tokens] += 1
        heappush(self._finishes, (job.finish_step, job.order, job))
        if job.known_blocks * self.block_tokens > computed:
            phase = (steps - computed - 1) % self.block_tokens
            self.fills.setdefault(phase, {})[job] = None

    def leave(self, job: Job) -> int:
        """`job` stops decoding, finished or preempted. Its computed tokens."""
        computed = self.computed(job)
        job.generated += self.steps - job.joined_step
        del self.jobs[job]
        self.context -= computed
        self._needs[(self.steps - computed) % self.block_tokens] -= 1
        if self.fills:
            phase = (self.steps - computed - 1) % self.block_tokens
            same = self.fills.get(phase)
            if same is not None and same.pop(job, self) is None and not same:
                del self.fills[phase]
        job.finish_step = -1  # its entry in the heap is stale now
        return computed

    def next_finish(self) -> int:
        """Steps until the first job has all its tokens. Only while there are jobs."""
        finishes = self._finishes
        while True:
            step, order, job = finishes[0]
            if step == job.finish_step and order == job.order:
                return step - self.steps
            heappop(finishes)  # it has left since; one that came back may finish in the same step

    def finished(self) -> list[Job]:
        """The jobs that have all their tokens now, in running order."""
        finishes, steps = self._finishes, self.steps
        done: list[Job] = []
        while finishes and finishes[0][0] <= steps:
            step, order, job = heappop(finishes)
            if step == job.finish_step and order == job.order:
                done.append(job)
        return done

    def blocks_needed(self, steps: int) -> int:
        """New blocks that the next `steps` steps take."""
        size, needs = self.block_tokens, self._needs
        start = self.steps % size
        if steps == 1:
            return needs[start]
        rounds, rest = divmod(steps, size)
        end = start + rest
        count = rounds * len(self.jobs)
        if end <= size:
            return count + sum(needs[start:end])
        return count + sum(needs[start:]) + sum(needs[: end - size])

    def steps_within(self, free_blocks: int, steps: int) -> int:
        """How many of the next `steps` steps can be taken with so many free blocks."""
        most = len(self.jobs) * (steps // self.block_tokens + 1)
        if most <= free_blocks or self.blocks_needed(steps) <= free_blocks:
            return steps
        low, high = 0, steps
        while high - low > 1:
            middle = (low + high) // 2
            if self.blocks_needed(middle) <= free_blocks:
                low = middle
            else:
                high = middle
        return low

    def advance(self, steps: int) -> None:
        self.steps += steps
        self.context += steps * len(self.jobs)

    def filling(self, step: int) -> list[Job]:
        """The jobs with a known output that fill a block in group step number `step`."""
        same = self.fills.get(step % self.block_tokens)
        return list(same) if same else []

    def next_fill(self) -> int:
        """Steps up to and with the next one in which a known block is full. Only if any fills."""
        size, start = self.block_tokens, self.steps
        return 1 + min((phase - start) % size for phase in self.fills)
