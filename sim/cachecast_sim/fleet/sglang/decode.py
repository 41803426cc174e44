"""Decode steps: how many find their pages, and who gives way when none does.

Rules: serving-semantics §1b row 9 and §1d (SGLang 0.5.23, `managers/schedule_batch.py`:
check_decode_mem, retract_decode). SGLang calls a preemption a retraction.
"""

from collections.abc import Sequence
from fractions import Fraction

from cachecast_sim.fleet.sglang.active import Active
from cachecast_sim.fleet.sglang.group import DecodeGroup
from cachecast_sim.fleet.sglang.radix_cache import RadixCache
from cachecast_sim.fleet.sglang.settings import NewTokenRatio

# A preemption makes room for so many steps of those that stay (`SGLANG_RETRACT_DECODE_STEPS`).
RETRACT_DECODE_STEPS = 20


class RatioNow:
    """Where the new token ratio of one server stands, as a fraction: k steps at once are k."""

    __slots__ = ("_since", "_start", "steps")

    def __init__(self, settings: NewTokenRatio) -> None:
        self._since = settings
        self._start = settings.first
        self.steps = 0  # decode steps without a preemption since the start

    @property
    def value(self) -> Fraction:
        """The ratio that an admission reckons with."""
        if not self.steps:
            return self._start
        return max(self._start - self.steps * self._since.fall, self._since.least)

    def estimate(self, running: Sequence[Active]) -> None:
        """After a preemption: what those that stay have produced and will in the next steps.

        A ratio that was set to one value for good stays there.
        """
        if self._since.fall == 0:
            return
        produced = sum(active.generated_tokens + RETRACT_DECODE_STEPS for active in running)
        wanted = sum(active.job.output_tokens for active in running)
        self._start = min(Fraction(1), Fraction(produced, wanted + 1))
        self.steps = 0


def steps_that_fit(group: DecodeGroup, steps: int, cache: RadixCache) -> int:
    """How many of the next `steps` steps find their pages, free ones or evictable ones."""
    usable = cache.free_pages + cache.evictable_pages
    if group.pages_at_most(steps) <= usable or group.pages_for(steps) <= usable:
        return steps
    fit, beyond = 0, steps
    while beyond - fit > 1:
        middle = (fit + beyond) // 2
        if group.pages_for(middle) <= usable:
            fit = middle
        else:
            beyond = middle
    return fit


def preempt(group: DecodeGroup, page_tokens: int, cache: RadixCache) -> list[Active]:
    """Take members out of the group until one step fits; they come back in that order.

    To be called when a step does not fit. Out goes who has produced least, of these who has the
    longest prompt, of these who was admitted last; the others stand in that order afterwards. Pages
    go without a checkpoint (§1b row 9): output and what of the prompt is not in the tree is lost.
    """
    cache.evict(group.pages_for(1) - cache.free_pages)
    running = group.dissolve()
    running.sort(key=lambda active: (-active.generated_tokens, active.job.prompt_tokens))
    out: list[Active] = []
    while not out or _pages_for_a_step(running, page_tokens) > cache.free_pages:
        assert len(running) > 1, "a request that fits the memory alone finds no page for one token"
        victim = running.pop()
        victim.release()
        victim.job.preemptions += 1
        out.append(victim)
        ahead = len(running) * RETRACT_DECODE_STEPS
        cache.evict(-(-ahead // page_tokens) - cache.free_pages)
        cache.evict(_pages_for_a_step(running, page_tokens) - cache.free_pages)
    for active in running:
        group.join(active)
    return out


def _pages_for_a_step(running: Sequence[Active], page_tokens: int) -> int:
    return sum(active.computed_tokens % page_tokens == 0 for active in running)
