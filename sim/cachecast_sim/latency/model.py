"""What the step loop asks of a latency model: whole nanoseconds, never a float."""

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Protocol

from cachecast_sim.latency.terms import Terms

HeldTokens = Callable[[int], int]


class LatencyModel(Protocol):
    """How long the steps of one server take.

    A model object belongs to one server: `recorded` hands out its durations in order and `fitted`
    remembers how far it went beyond its calibration. No duration shrinks when a count grows.
    """

    __slots__ = ()

    def step_ns(
        self, prefill_tokens: int, prefill_requests: int, prefill_context: int,
        decode_requests: int, decode_context: int,
    ) -> int:  # fmt: skip
        """Duration of one engine step that runs now, whole nanoseconds, >= 1.

        prefill_tokens: prompt tokens (or resumed output) computed in this step, over
        prefill_requests requests. prefill_context: their attention pairs, the sum over these
        requests of new * (already computed tokens) + new * (new + 1) / 2.
        decode_requests: requests that compute one token each. decode_context: the sum of their
        lengths before the step, so each token's pairs with itself and all before it.
        """
        ...

    def decode_ends_ns(self, requests: int, context: int, steps: int) -> Sequence[int]:
        """Ends, relative to now, of `steps` successive decode-only steps of the same requests.

        The context grows by `requests` each step. Equal to adding up `step_ns` step by step. A
        range where all steps last equally long, so that it costs nothing. These steps have not run
        yet: `taken` says how many of them did.
        """
        ...

    def chunk_ends_ns(
        self, chunk: int, computed: int, decode_requests: int, decode_context: int, steps: int
    ) -> Sequence[int] | None:
        """Ends, relative to now, of `steps` successive steps that each compute `chunk` tokens of
        one prompt, of which `computed` are there, beside the same requests that decode.

        Equal to adding up `step_ns` step by step, and unsaid whether they run, as with
        `decode_ends_ns`. None: ask for each step.
        """
        return None

    def taken(self, steps: int) -> None:
        """The first `steps` steps of the latest `decode_ends_ns` or `chunk_ends_ns` really ran (0
        to all of them).

        To be called once after each of these whose steps were used; a step asked for with
        `step_ns` counts as run at once. Most models need not know.
        """
        return

    def watch(self, held_tokens: HeldTokens) -> None:
        """Where to ask for the tokens of the blocks that running requests hold, each block once.

        To be called once, before the first step. `held_tokens(0)` is meant for the step asked for,
        `held_tokens(n)` for the one n decode steps later. Most models need not know.
        """
        return

    def terms(self) -> Terms | None:
        """The model as numbers, where `step_ns` depends on nothing else; None if it does."""
        return None

    def assumptions(self) -> tuple[str, ...]:
        """Sentences for the result's assumptions, complete once the run has ended."""
        return ()


def equal_ends_ns(step_ns: int, steps: int) -> range:
    """Ends of steps that all last equally long."""
    return range(step_ns, step_ns * steps + 1, step_ns)


def growing_ends_ns(
    step_ns: Callable[[int], int], requests: int, context: int, steps: int
) -> Sequence[int]:
    """Ends of decode steps whose duration depends on the context and never shrinks as it grows.

    `step_ns(context)` is the duration of one step. The range of `equal_ends_ns` where the last
    step lasts as long as the first.
    """
    if steps < 1:
        return ()
    first, last = step_ns(context), step_ns(context + requests * (steps - 1))
    if first == last:
        return equal_ends_ns(first, steps)
    contexts = range(context, context + requests * steps, requests)
    return list(accumulate(map(step_ns, contexts)))
