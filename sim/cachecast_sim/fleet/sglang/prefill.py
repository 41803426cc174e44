"""Which waiting requests the next prefill step takes in, and how many tokens of each.

A model of SGLang's scheduler (0.5.23, `managers/schedule_policy.py`: PrefillAdder), first come
first served, one page size, one KV pool, no priorities.
"""

from dataclasses import dataclass
from enum import Enum, auto
from fractions import Fraction

from cachecast_sim.fleet.sglang.active import Active
from cachecast_sim.fleet.sglang.group import DecodeGroup
from cachecast_sim.fleet.sglang.radix_cache import RadixCache
from cachecast_sim.fleet.sglang.settings import SglangSettings

# No request sets more output aside than this (`CLIP_MAX_NEW_TOKENS`).
MOST_RESERVED_TOKENS = 4096


class Room(Enum):
    """Whether a prefill step can take another request, and what it lacks."""

    YES = auto()
    NO_MEMORY = auto()
    NO_BUDGET = auto()


@dataclass(frozen=True, slots=True)
class Chunk:
    """`tokens` tokens of a request that a prefill step computes, after those it has."""

    active: Active
    tokens: int

    @property
    def context(self) -> int:
        """Attention pairs: each new token with itself and with all before it."""
        before, new = self.active.computed_tokens, self.tokens
        return new * before + new * (new + 1) // 2


class PrefillStep:
    """One attempt to fill a prefill step: `chunks` in order; `unfinished` goes on in the next one.

    A request is charged whole pages of the budget, and sets aside one page more than it needs.
    """

    def __init__(
        self, cache: RadixCache, settings: SglangSettings, running: DecodeGroup, ratio: Fraction
    ) -> None:
        self.chunks: list[Chunk] = []
        self.unfinished: Active | None = None
        self._cache = cache
        self._page_tokens = settings.page_tokens
        self._budget_tokens = settings.max_batch_tokens
        # What the running ones set aside is a fraction; whole tokens compare with its floor as with
        # itself.
        aside = ratio.numerator * running.tokens_to_come(MOST_RESERVED_TOKENS)
        self._reserved_tokens = aside // ratio.denominator
        self._server_is_empty = not running

    @property
    def room(self) -> Room:
        """What is left after the requests taken so far."""
        if self._spare_tokens() <= 0:
            return Room.NO_MEMORY
        return Room.NO_BUDGET if self._budget_tokens <= 0 else Room.YES

    def go_on(self, active: Active) -> None:
        """The next chunk of a prompt that did not fit the step before. It always makes progress."""
        most = min(self._budget_tokens, self._spare_tokens())
        if most <= 0:
            most = self._budget_tokens
        left = active.length_tokens - active.computed_tokens
        self._take(active, min(left, most), whole=left <= most)

    def add(self, active: Active) -> Room:
        """Take a waiting request in if there is room; the answer is what room is left.

        It is looked up even if it is not taken in, which makes its prefix recently used. On a
        server that runs nothing else it is taken in whatever it sets aside: that is not SGLang's
        rule, which would let it wait for ever.
        """
        active.match()
        new = active.length_tokens - active.computed_tokens
        wanted = new + min(active.tokens_to_come, MOST_RESERVED_TOKENS) + self._page_tokens
        alone = self._server_is_empty and not self.chunks
        if wanted >= self._spare_tokens() and not alone:
            active.release()
            return Room.NO_MEMORY
        if self._in_pages(new) <= self._budget_tokens:
            self._take(active, new, whole=True)
        else:
            part = self._budget_tokens // self._page_tokens * self._page_tokens
            if part <= 0:
                active.release()
                return Room.NO_BUDGET
            self._take(active, part, whole=False)
        return self.room

    def _take(self, active: Active, tokens: int, whole: bool) -> None:
        self.chunks.append(Chunk(active, tokens))
        in_pages = self._in_pages(tokens)
        self._budget_tokens -= in_pages
        self._reserved_tokens += in_pages + self._page_tokens
        if whole:
            self._reserved_tokens += min(active.job.output_tokens, MOST_RESERVED_TOKENS)
        else:
            self.unfinished = active

    def _spare_tokens(self) -> int:
        usable = self._cache.free_pages + self._cache.evictable_pages
        return usable * self._page_tokens - self._reserved_tokens

    def _in_pages(self, tokens: int) -> int:
        return -(-tokens // self._page_tokens) * self._page_tokens
