"""Decode steps: the pages they need, and who gives way when there are none.

Rules: serving-semantics §1b row 9 and §1d (SGLang 0.5.23, `managers/schedule_batch.py`:
check_decode_mem, retract_decode). SGLang calls a preemption a retraction.
"""

from collections.abc import Sequence
from fractions import Fraction

from cachecast_sim.fleet.sglang.active import Active
from cachecast_sim.fleet.sglang.radix_cache import RadixCache
from cachecast_sim.fleet.sglang.settings import NewTokenRatio

# A preemption makes room for so many steps of those that stay (`SGLANG_RETRACT_DECODE_STEPS`).
RETRACT_DECODE_STEPS = 20


class RatioNow:
    """Where the new token ratio of one server stands, as a fraction: k steps at once are k."""

    __slots__ = ("_settings", "value")

    def __init__(self, settings: NewTokenRatio) -> None:
        self._settings = settings
        self.value = settings.first

    def fall(self, steps: int) -> None:
        """So many decode steps went without a preemption."""
        self.value = max(self.value - steps * self._settings.fall, self._settings.least)

    def estimate(self, running: Sequence[Active]) -> None:
        """After a preemption: what those that stay have produced and will in the next steps.

        A ratio that was set to one value for good stays there.
        """
        if self._settings.fall == 0:
            return
        produced = sum(active.generated_tokens + RETRACT_DECODE_STEPS for active in running)
        wanted = sum(active.job.output_tokens for active in running)
        self.value = min(Fraction(1), Fraction(produced, wanted + 1))


def new_pages(running: Sequence[Active], steps: int, page_tokens: int) -> int:
    """Pages that `steps` decode steps of these requests need beyond those they have."""
    need = 0
    for active in running:
        computed = active.computed_tokens
        need += (computed + steps - 1) // page_tokens - (computed - 1) // page_tokens
    return need


def steps_that_fit(
    running: Sequence[Active], steps: int, page_tokens: int, cache: RadixCache
) -> int:
    """How many of `steps` decode steps find their pages, free ones or evictable ones."""
    usable = cache.free_pages + cache.evictable_pages
    if new_pages(running, steps, page_tokens) <= usable:
        return steps
    fit, beyond = 0, steps
    while beyond - fit > 1:
        middle = (fit + beyond) // 2
        if new_pages(running, middle, page_tokens) <= usable:
            fit = middle
        else:
            beyond = middle
    return fit


def take_pages(
    running: Sequence[Active], done: int, steps: int, page_tokens: int, cache: RadixCache
) -> None:
    """Give the requests the pages of decode steps `done` + 1 to `steps`.

    Evicting for several steps at once drops the same leaves as evicting for one after the other:
    both stop at the first leaf in the order that covers the sum, and nothing else uses the tree
    meanwhile.
    """
    need = new_pages(running, steps, page_tokens) - new_pages(running, done, page_tokens)
    found = cache.take(need)
    assert found, f"{need} pages for decoding were counted on and are not there"
    for active in running:
        active.held().grow(-(-(active.computed_tokens + steps) // page_tokens))


def preempt(running: list[Active], page_tokens: int, cache: RadixCache) -> list[Active]:
    """Take requests out of `running` until one decode step fits; they come back in that order.

    To be called when a step does not fit. Out goes who has produced least, of these who has the
    longest prompt, of these who was admitted last; the others stand in that order afterwards. Pages
    go without a checkpoint (§1b row 9): output and what of the prompt is not in the tree is lost.
    """
    running.sort(key=lambda active: (-active.generated_tokens, active.job.prompt_tokens))
    cache.evict(new_pages(running, 1, page_tokens) - cache.free_pages)
    out: list[Active] = []
    while new_pages(running, 1, page_tokens) > cache.free_pages or not out:
        assert len(running) > 1, "a request that fits the memory alone finds no page for one token"
        victim = running.pop()
        victim.release()
        victim.job.preemptions += 1
        out.append(victim)
        ahead = len(running) * RETRACT_DECODE_STEPS
        cache.evict(-(-ahead // page_tokens) - cache.free_pages)
        cache.evict(new_pages(running, 1, page_tokens) - cache.free_pages)
    return out
