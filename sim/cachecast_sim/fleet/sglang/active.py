"""A job inside the server: how far it is, and the pages it holds."""

from cachecast_sim.fleet.job import Job
from cachecast_sim.fleet.sglang.holding import Holding
from cachecast_sim.fleet.sglang.radix_cache import RadixCache
from cachecast_sim.fleet.sglang.seen import Seen


class Active:
    """A waiting or running job.

    `generated_tokens` is the output it has; a preemption keeps it and loses the pages.
    `computed_tokens` have their KV in memory; the last output token never does. While the job
    decodes both stand as at `joined_step` of its group, which knows the rest.
    """

    __slots__ = (
        "_cache", "_noted_pages", "_page_tokens", "_seen", "computed_tokens", "finish_step",
        "generated_tokens", "holding", "job", "joined_step",
    )  # fmt: skip

    def __init__(self, job: Job, cache: RadixCache, seen: Seen, page_tokens: int) -> None:
        self.job = job
        self.generated_tokens = 0
        self.computed_tokens = 0
        self.joined_step = 0
        self.finish_step = 0
        self.holding: Holding | None = None
        self._cache = cache
        self._seen = seen
        self._page_tokens = page_tokens
        self._noted_pages = 0

    @property
    def length_tokens(self) -> int:
        """Prompt and output so far."""
        return self.job.prompt_tokens + self.generated_tokens

    @property
    def tokens_to_come(self) -> int:
        """Output that is still missing."""
        return self.job.output_tokens - self.generated_tokens

    def held(self) -> Holding:
        """Its pages; it is an error of ours to ask while it waits."""
        assert self.holding is not None, f"request {self.job.request_id} holds no pages"
        return self.holding

    def match(self) -> None:
        """Look it up and lock what is found.

        The last token is always left to compute, and only whole pages are found (§1b row 3).
        """
        most_pages = (self.length_tokens - 1) // self._page_tokens
        self.holding = Holding(self._cache, self.job.path, most_pages, None)
        self.computed_tokens = self.holding.tree_pages * self._page_tokens

    def grow(self) -> None:
        """Its row is as long as what it has computed."""
        self.held().grow(-(-self.computed_tokens // self._page_tokens))

    def checkpoint(self) -> None:
        """Give what is computed to the tree, in whole pages."""
        pages = self.computed_tokens // self._page_tokens
        self.held().checkpoint(pages, self.job.prompt_tokens // self._page_tokens)
        if pages > self._noted_pages:
            self._seen.note(self.job.path, pages)
            self._noted_pages = pages

    def release(self) -> None:
        """Give back the pages; without a checkpoint before, the work on them is lost."""
        self.held().release()
        self.holding = None
        self.computed_tokens = 0
