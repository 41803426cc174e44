"""A latency model that tells of every step that ran: what it computed and how long it took."""

from collections.abc import Callable, Sequence

from cachecast_sim.latency.model import HeldTokens, LatencyModel

# (prefill tokens, requests and pairs, decode requests and context, held tokens, duration in ns)
OnStep = Callable[[int, int, int, int, int, int | None, int], None]


class LoggedModel(LatencyModel):
    """Another model, with `on_step` called once for each step, in order."""

    __slots__ = ("_ends_ns", "_held", "_inner", "_on_step", "_stretch", "_stretch_held")

    def __init__(self, inner: LatencyModel, on_step: OnStep) -> None:
        self._inner = inner
        self._on_step = on_step
        self._stretch = (0, 0)
        self._ends_ns: Sequence[int] = ()
        self._held: HeldTokens | None = None
        self._stretch_held: list[int | None] = []

    def step_ns(
        self, prefill_tokens: int, prefill_requests: int, prefill_context: int,
        decode_requests: int, decode_context: int,
    ) -> int:  # fmt: skip
        """The inner model's, told at once."""
        counts = (
            prefill_tokens, prefill_requests, prefill_context, decode_requests, decode_context,
        )  # fmt: skip
        duration_ns = self._inner.step_ns(*counts)
        self._on_step(*counts, None if self._held is None else self._held(0), duration_ns)
        return duration_ns

    def decode_ends_ns(self, requests: int, context: int, steps: int) -> Sequence[int]:
        """The inner model's; told when it is known how many of them ran."""
        self._stretch = (requests, context)
        held = self._held
        self._stretch_held = [None if held is None else held(ahead) for ahead in range(steps)]
        self._ends_ns = self._inner.decode_ends_ns(requests, context, steps)
        return self._ends_ns

    def taken(self, steps: int) -> None:
        """So many of the latest stretch ran."""
        self._inner.taken(steps)
        requests, context = self._stretch
        before = 0
        for number in range(steps):
            end = self._ends_ns[number]
            counts = (0, 0, 0, requests, context + number * requests)
            self._on_step(*counts, self._stretch_held[number], end - before)
            before = end

    def watch(self, held_tokens: HeldTokens) -> None:
        """The inner model needs it too."""
        self._held = held_tokens
        self._inner.watch(held_tokens)

    def assumptions(self) -> tuple[str, ...]:
        """The inner model's."""
        return self._inner.assumptions()
