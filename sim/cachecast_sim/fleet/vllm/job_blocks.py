"""The blocks of jobs in one pool: taken as they compute, hashed when full, let go together."""

from cachecast_sim.fleet.job import Job
from cachecast_sim.fleet.tiers import TierStack
from cachecast_sim.fleet.vllm.pool import BlockPool


class JobBlocks:
    """A server's pool seen from its jobs, with the tiers that take what becomes full.

    `ttl_ns`: a cached block is alive while now - last use <= TTL. vLLM itself has no TTL.
    """

    def __init__(
        self, pool: BlockPool, block_tokens: int, ttl_ns: int | None, tiers: TierStack | None
    ) -> None:
        self.pool = pool
        self.block_tokens = block_tokens
        self.tiers = tiers
        self._ttl_ns = ttl_ns

    def needed(self, job: Job, tokens: int) -> int:
        """New blocks for the next `tokens` tokens of a job that prefills."""
        blocks = -(-(job.computed + tokens) // self.block_tokens) - job.blocks
        return blocks if blocks > 0 else 0

    def compute(self, job: Job, tokens: int) -> None:
        """A job that prefills computes its next tokens: new blocks, and hashes of full ones."""
        blocks = self.needed(job, tokens)
        if blocks:
            self.pool.take(blocks)
            job.blocks += blocks
        job.computed += tokens
        job.remaining -= tokens
        self.fill(job, job.computed)

    def fill(self, job: Job, computed: int) -> None:
        """`computed` tokens of the job have K and V: whole blocks among them get their hashes."""
        whole = computed // self.block_tokens
        if whole > job.filled_blocks:
            self.pool.fill(job.held, job.path, job.filled_blocks, whole)
            if self.tiers is not None:
                self.tiers.filled(job.path, job.filled_blocks, whole)
            job.filled_blocks = whole

    def release(self, job: Job, computed: int, now_ns: int) -> None:
        """The job leaves with `computed` tokens; nothing of it stays held."""
        self.fill(job, computed)
        self.pool.release(job.held, job.blocks - job.filled_blocks, now_ns)
        reset(job)

    @property
    def expires(self) -> bool:
        """Whether cached blocks have a life."""
        return self._ttl_ns is not None

    def expire(self, now_ns: int) -> None:
        if self._ttl_ns is not None:
            self.pool.expire(now_ns - self._ttl_ns)

    def matched(self, job: Job, now_ns: int) -> int:
        """Prompt tokens at the front of `job` that are cached; the last one never counts."""
        self.expire(now_ns)
        limit = (job.prompt_tokens - 1) // self.block_tokens
        return self.pool.find(job.path, limit)[1] * self.block_tokens


def reset(job: Job) -> None:
    """The job holds nothing and has computed nothing."""
    job.held = []
    job.computed = job.blocks = job.filled_blocks = 0
