"""vLLM's block pool and scheduler, slow and obvious: an object a block, a loop a step, no runs.

Written from serving-semantics of vLLM 0.32.0 (rows 5 to 21 and the details that the golden files
settle), not from the simulator, which it judges.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field

Key = Hashable  # what a block holds: equal keys, equal tokens from the prompt's start up to its end
# (prefill tokens, prefill requests, attention pairs, decode requests, decode context): ns
StepNs = Callable[[int, int, int, int, int], int]


def ceil_div(count: int, size: int) -> int:
    return -(-count // size)


@dataclass(eq=False, slots=True)
class Block:
    """One physical block. `key` is its hash, None as long as it is not full."""

    key: Key | None = None
    users: int = 0
    freed_ns: int = 0


class SlowPool:
    """`free` is the free queue, its head first; `cached` has the blocks of a hash, oldest first."""

    def __init__(self, usable_blocks: int) -> None:
        self.free = [Block() for _ in range(usable_blocks)]
        self.cached: dict[Key, list[Block]] = {}
        self.evicted: list[Key] = []
        self.ever: set[Key] = set()

    def find(self, keys: Sequence[Key]) -> list[Block]:
        """Rows 7 and 13: from block 0 on, up to the first that is not there, the oldest of each."""
        found = []
        for key in keys:
            if key not in self.cached:
                break
            found.append(self.cached[key][0])
        return found

    def touch(self, blocks: Sequence[Block]) -> None:
        for block in blocks:
            if block.users == 0:
                self.free.remove(block)
            block.users += 1

    def take(self, count: int) -> list[Block]:
        """Row 10: from the head; a hash is lost here and nowhere else."""
        taken = [self.free.pop(0) for _ in range(count)]
        for block in taken:
            if block.key is not None:
                self.evicted.append(block.key)
                self._forget(block)
            block.users = 1
        return taken

    def fill(self, block: Block, key: Key) -> None:
        block.key = key
        self.cached.setdefault(key, []).append(block)
        self.ever.add(key)

    def release(self, blocks: Sequence[Block], now_ns: int) -> None:
        """Row 14: the last first; with a hash to the tail, without one to the head."""
        for block in reversed(blocks):
            block.users -= 1
            if block.users == 0:
                block.freed_ns = now_ns
                self.free.insert(0 if block.key is None else len(self.free), block)

    def expire(self, freed_before_ns: int) -> None:
        """Not vLLM's: free blocks with an earlier last use lose their hash and go to the head."""
        for block in [b for b in self.free if b.key is not None and b.freed_ns < freed_before_ns]:
            self._forget(block)
            self.free.remove(block)
            self.free.insert(0, block)

    def _forget(self, block: Block) -> None:
        same = self.cached[block.key]
        same.remove(block)
        if not same:
            del self.cached[block.key]
        block.key = None


@dataclass(eq=False, slots=True)
class SlowJob:
    """`keys` are those of the leading blocks whose content others may have; the rest is its own."""

    index: int
    arrival_ns: int
    prompt: int
    output: int
    keys: Sequence[Key]
    generated: int = 0
    computed: int = 0
    prefills: bool = False
    blocks: list[Block] = field(default_factory=list)
    status: str = "waiting"
    hit_tokens: int = 0
    misses: tuple[tuple[str, int], ...] = ()
    readmission_hit_tokens: list[int] = field(default_factory=list)
    preemptions: int = 0
    scheduled_ns: int | None = None
    token_ends_ns: list[int] = field(default_factory=list)

    @property
    def length(self) -> int:
        return self.prompt + self.generated

    def key(self, number: int) -> Key:
        return self.keys[number] if number < len(self.keys) else ("own", self.index, number)


@dataclass(eq=False, slots=True)
class SlowServer:
    block_tokens: int
    usable_blocks: int
    max_batch_tokens: int
    max_seqs: int
    step_ns: StepNs
    pool: SlowPool = field(init=False)
    waiting: list[SlowJob] = field(default_factory=list)
    running: list[SlowJob] = field(default_factory=list)
    steps: int = 0
    gaps: dict[int, int] = field(default_factory=dict)
    ttl_ns: int | None = None  # vLLM has none: a cached block is alive while now - last use <= TTL
    # why a block missed: called with the job before its blocks are touched
    on_admit: Callable[[SlowJob, int], None] = lambda job, hits: None

    def __post_init__(self) -> None:
        self.pool = SlowPool(self.usable_blocks)

    def submit(self, job: SlowJob) -> None:
        """Detail 10: what can never fit is rejected."""
        needed = ceil_div(job.prompt + job.output - 1, self.block_tokens)
        if needed > self.usable_blocks:
            job.status = "rejected"
        else:
            self.waiting.append(job)

    def step(self, now_ns: int) -> tuple[int, dict[SlowJob, int]]:
        """Schedule one step: (its duration, the tokens of each job in it, in running order)."""
        budget = self.max_batch_tokens
        scheduled: dict[SlowJob, int] = {}
        preempted = False
        while len(scheduled) < len(self.running) and budget > 0:
            job = self.running[len(scheduled)]
            tokens = min(job.length - job.computed, budget)
            while self._new_blocks(job, tokens) > len(self.pool.free):
                preempted = True
                self._preempt(self.running.pop(), now_ns)
                if job not in self.running:
                    break
            if job not in self.running:
                break
            self._allocate(job, tokens)
            scheduled[job] = tokens
            budget -= tokens
        if self.ttl_ns is not None:
            self.pool.expire(now_ns - self.ttl_ns)
        while self.waiting and not preempted and budget > 0 and len(self.running) < self.max_seqs:
            job = self.waiting[0]
            if not self._admit(job, now_ns):
                break
            self.running.append(self.waiting.pop(0))
            tokens = min(job.length - job.computed, budget)
            self._allocate(job, tokens)
            scheduled[job] = tokens
            budget -= tokens
        return self._duration(scheduled), scheduled

    def _new_blocks(self, job: SlowJob, tokens: int) -> int:
        return ceil_div(job.computed + tokens, self.block_tokens) - len(job.blocks)

    def _allocate(self, job: SlowJob, tokens: int) -> None:
        """Row 11: what the step will fill has its hash before the step runs."""
        job.blocks += self.pool.take(self._new_blocks(job, tokens))
        for number in range((job.computed + tokens) // self.block_tokens):
            if job.blocks[number].key is None:
                self.pool.fill(job.blocks[number], job.key(number))

    def _admit(self, job: SlowJob, now_ns: int) -> bool:
        """Rows 7, 9 and 17, details 2 and 4; False if it does not fit, all of it."""
        most = (job.length - 1) // self.block_tokens
        hits = self.pool.find([job.key(number) for number in range(most)])
        needed = ceil_div(job.length, self.block_tokens) - len(hits)
        if needed + sum(block.users == 0 for block in hits) > len(self.pool.free):
            return False
        hit_tokens = len(hits) * self.block_tokens
        if job.scheduled_ns is None:
            job.scheduled_ns, job.hit_tokens = now_ns, hit_tokens
            self.on_admit(job, len(hits))
        else:
            job.readmission_hit_tokens.append(hit_tokens)
        self.pool.touch(hits)
        job.blocks, job.computed, job.prefills = hits, hit_tokens, True
        return True

    def _preempt(self, job: SlowJob, now_ns: int) -> None:
        self.pool.release(job.blocks, now_ns)
        job.blocks, job.computed = [], 0
        job.preemptions += 1
        self.waiting.insert(0, job)

    def _duration(self, scheduled: dict[SlowJob, int]) -> int:
        prefills = [(job.computed, new) for job, new in scheduled.items() if job.prefills]
        decodes = [job.length for job in scheduled if not job.prefills]
        pairs = sum(before + i for before, new in prefills for i in range(1, new + 1))
        tokens = sum(new for _, new in prefills)
        return self.step_ns(tokens, len(prefills), pairs, len(decodes), sum(decodes))

    def finish(self, scheduled: dict[SlowJob, int], now_ns: int) -> None:
        """The step has run: a token for each job whose tokens are all computed."""
        self.steps += 1
        for job, tokens in scheduled.items():
            job.computed += tokens
            if job.computed < job.length:
                continue
            job.generated += 1
            job.prefills = False
            if job.token_ends_ns:
                gap = now_ns - job.token_ends_ns[-1]
                self.gaps[gap] = self.gaps.get(gap, 0) + 1
            job.token_ends_ns.append(now_ns)
            if job.generated == job.output:
                job.status = "ok"
                self.pool.release(job.blocks, now_ns)
                self.running.remove(job)


Probe = Callable[[SlowServer, SlowJob, int], None]


def serve_slowly(
    server: SlowServer, jobs: Sequence[SlowJob], probe: Probe = lambda server, job, now_ns: None
) -> None:
    """Every job to its end on one server. `probe` sees the server as each job arrives."""
    to_come = list(jobs)
    now_ns = 0

    def arrive(until_ns: int) -> None:
        while to_come and to_come[0].arrival_ns <= until_ns:
            job = to_come.pop(0)
            probe(server, job, job.arrival_ns)
            server.submit(job)

    while to_come or server.waiting or server.running:
        if not server.waiting and not server.running:
            now_ns = max(now_ns, to_come[0].arrival_ns)
            arrive(now_ns)
            continue
        duration_ns, scheduled = server.step(now_ns)
        assert scheduled, "a step without work"
        now_ns += duration_ns
        arrive(now_ns)  # those at this very moment come before the step's end is looked at
        server.finish(scheduled, now_ns)
