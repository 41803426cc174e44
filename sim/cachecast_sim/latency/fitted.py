"""`fitted`: coefficients that a calibration measured on a real engine."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from decimal import Decimal
from itertools import accumulate, pairwise

from cachecast_sim.latency.exact import over_one_denominator, rounded
from cachecast_sim.latency.fields import text
from cachecast_sim.latency.files import LatencyFiles
from cachecast_sim.latency.fitted_file import RANGES, FittedFile, read_fitted
from cachecast_sim.latency.model import HeldTokens, LatencyModel, growing_ends_ns

FIELDS = {"file": "the coefficients that `cachecast calibrate` wrote"}


class FittedModel(LatencyModel):
    """step = constant + slopes * new tokens + counts * coefficients, exact, then rounded once.

    With a price for held tokens the model must `watch` its server before the first step.

    No coefficient is negative, so no step gets shorter by more work. Beyond the calibrated ranges
    the same lines are drawn on, the last segment that was measured too; `assumptions` says how
    often that was.
    """

    __slots__ = (
        "_coefficients", "_denominator", "_file", "_held", "_knots", "_of_context", "_of_held",
        "_outside",
        "_place", "_slopes", "_steps", "_stretch", "_up_to",
    )  # fmt: skip

    def __init__(self, file: FittedFile, place: str) -> None:
        found = file.coefficients_s
        counts = (found.prefill_request, found.decode_request, found.prefill_pair)
        context = (found.decode_context_token, found.held_token)
        values = (found.constant, *counts, *context, *found.new_token)
        numerators, self._denominator = over_one_denominator([Decimal(str(v)) for v in values])
        # a segment that no calibrated step reached has a slope of 0 that nobody measured
        measured = max(1, bisect_left(found.knots, file.valid.new_tokens[1]))
        self._knots = found.knots[:measured]
        self._coefficients, self._slopes = numerators[:4], numerators[6 : 6 + measured]
        self._of_context, self._of_held = numerators[4:6]
        widths = [high - low for low, high in pairwise(self._knots)]
        self._up_to = [0, *accumulate(a * b for a, b in zip(self._slopes, widths, strict=False))]
        self._held: HeldTokens = _unknown if found.held_token else _none
        self._file, self._place = file, place
        self._steps = 0
        self._outside: dict[str, tuple[int, int, int]] = {}  # name -> steps outside, least, most
        self._stretch = (0, 0)

    def step_ns(
        self, prefill_tokens: int, prefill_requests: int, prefill_context: int,
        decode_requests: int, decode_context: int,
    ) -> int:  # fmt: skip
        """The duration; remembers where the step lies outside of what was calibrated."""
        counts = (prefill_requests, decode_requests, prefill_context, decode_context)
        new_tokens = prefill_tokens + decode_requests
        self._steps += 1
        for name, count in zip(RANGES, (new_tokens, *counts), strict=True):
            self._note(name, count, 0, 1)
        held = self._of_held and self._held(0)
        return rounded(self._work(new_tokens, *counts) + self._of_held * held, self._denominator)

    def decode_ends_ns(self, requests: int, context: int, steps: int) -> Sequence[int]:
        """A range where the context has no price."""
        self._stretch = (requests, context)
        price, denominator, held = self._of_held, self._denominator, self._held
        alone = self._work(requests, 0, requests, 0, 0)
        of_context = self._of_context
        if not price:
            return growing_ends_ns(
                lambda length: rounded(alone + of_context * length, denominator),
                requests, context, steps,
            )  # fmt: skip
        return list(
            accumulate(
                rounded(
                    alone + of_context * (context + ahead * requests) + price * held(ahead),
                    denominator,
                )
                for ahead in range(steps)
            )
        )

    def watch(self, held_tokens: HeldTokens) -> None:
        """Asked only if held tokens have a price."""
        self._held = held_tokens

    def taken(self, steps: int) -> None:
        """Remember how far that many steps went beyond the calibration."""
        requests, context = self._stretch
        if steps:
            self._steps += steps
            self._note("new_tokens", requests, 0, steps)
            self._note("decode_requests", requests, 0, steps)
            self._note("decode_context", context, requests, steps)

    def assumptions(self) -> tuple[str, ...]:
        """Which calibration it was, and every count that went beyond it."""
        file = self._file
        found = [
            f"step times are those of {file.engine} on {file.machine} with {file.model}, fitted to "
            f"{file.steps} steps ({self._place}, {file.created})"
        ]
        for name, (steps, least, most) in sorted(self._outside.items()):
            low, high = getattr(file.valid, name)
            found.append(
                f"{steps} of {self._steps} steps lie outside the calibrated {name} {low} to {high} "
                f"({least} to {most}): their times are extrapolated"
            )
        return tuple(found)

    def _work(
        self, new_tokens: int, prefill_requests: int, decode_requests: int, prefill_pairs: int,
        decode_context: int,
    ) -> int:  # fmt: skip
        """All but what is held, over the common denominator."""
        constant, of_prefill, of_decode, of_pair = self._coefficients
        numerator = constant + of_prefill * prefill_requests + of_decode * decode_requests
        numerator += of_pair * prefill_pairs + self._of_context * decode_context
        knots = self._knots
        last = bisect_left(knots, new_tokens) - 1  # the segment that the last token lies in
        if last < 0:
            return numerator
        return numerator + self._up_to[last] + self._slopes[last] * (new_tokens - knots[last])

    def _note(self, name: str, first: int, growth: int, steps: int) -> None:
        """Remember a count that starts at `first` and grows each step, where it is out of range.

        0 never is: a step without prefill says nothing about prefill.
        """
        low, high = getattr(self._file.valid, name)
        last = first + growth * (steps - 1)
        if first == 0 or low <= first <= last <= high:
            return
        counts = range(first, last + 1, growth) if growth else (first,) * steps
        inside = sum(1 for count in counts if low <= count <= high)
        before, least, most = self._outside.get(name, (0, first, last))
        self._outside[name] = (before + steps - inside, min(least, first), max(most, last))


def _unknown(ahead: int) -> int:
    raise RuntimeError("held tokens have a price here: `watch` the server before its first step")


def _none(ahead: int) -> int:
    return 0


def fitted_model(table: Mapping[str, object], files: LatencyFiles) -> FittedModel:
    """The coefficients of the file that `latency.file` names; BadInput if it is no such file."""
    place = text(table, "latency", "file")
    return FittedModel(read_fitted(files.text(place), place), place)
