"""A job inside the server: how far it is, and the pages it holds."""

from array import array

from cachecast_sim.fleet.sglang.holding import Holding
from cachecast_sim.fleet.sglang.interfaces import Job
from cachecast_sim.fleet.sglang.radix_cache import RadixCache


class Active:
    """A waiting or running job.

    `output_tokens` is what it has to produce, `generated_tokens` what it has; a preemption keeps
    these and loses the pages. `computed_tokens` have their KV in memory. `ids` names every whole
    page it can fill.
    """

    __slots__ = (
        "computed_tokens", "generated_tokens", "holding", "ids", "job", "output_tokens",
        "prompt_pages",
    )  # fmt: skip

    def __init__(self, job: Job, output_tokens: int, ids: "array[int]", prompt_pages: int) -> None:
        self.job = job
        self.output_tokens = output_tokens
        self.ids = ids
        self.prompt_pages = prompt_pages
        self.generated_tokens = 0
        self.computed_tokens = 0
        self.holding: Holding | None = None

    @property
    def length_tokens(self) -> int:
        """Prompt and output so far."""
        return self.job.prompt_tokens + self.generated_tokens

    @property
    def tokens_to_come(self) -> int:
        """Output that is still missing."""
        return self.output_tokens - self.generated_tokens

    def held(self) -> Holding:
        """Its pages; it is an error of ours to ask while it waits."""
        assert self.holding is not None, f"request {self.job.request_id} holds no pages"
        return self.holding

    def match(self, cache: RadixCache, page_tokens: int) -> None:
        """Look it up and lock what is found.

        The last token is always left to compute, and only whole pages are found (§1b row 3).
        """
        self.holding = Holding(cache, self.ids, (self.length_tokens - 1) // page_tokens, None)
        self.computed_tokens = self.holding.tree_pages * page_tokens

    def checkpoint(self, page_tokens: int) -> None:
        """Give what is computed to the tree, in whole pages."""
        self.held().checkpoint(self.computed_tokens // page_tokens, self.prompt_pages)

    def release(self) -> None:
        """Give back the pages; without a checkpoint before, the work on them is lost."""
        self.held().release()
        self.holding = None
        self.computed_tokens = 0
