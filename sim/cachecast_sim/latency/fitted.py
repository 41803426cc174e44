"""`fitted`: coefficients that a calibration measured on a real engine."""

from collections.abc import Mapping, Sequence
from decimal import Decimal

from cachecast_sim.latency.exact import over_one_denominator, rounded
from cachecast_sim.latency.features import segments
from cachecast_sim.latency.fields import text
from cachecast_sim.latency.files import LatencyFiles
from cachecast_sim.latency.fitted_file import RANGES, FittedFile, read_fitted
from cachecast_sim.latency.model import LatencyModel, growing_ends_ns

FIELDS = {"file": "the coefficients that `cachecast calibrate` wrote"}


class FittedModel(LatencyModel):
    """step = constant + slopes * new tokens + counts * coefficients, exact, then rounded once.

    No coefficient is negative, so no step gets shorter by more work. Beyond the calibrated ranges
    the same lines are drawn on; `assumptions` says how often that was.
    """

    __slots__ = (
        "_coefficients", "_denominator", "_file", "_outside", "_place", "_slopes", "_steps",
        "_stretch",
    )  # fmt: skip

    def __init__(self, file: FittedFile, place: str) -> None:
        found = file.coefficients_s
        counts = (found.prefill_request, found.decode_request, found.prefill_pair)
        values = (found.constant, *counts, found.decode_context_token, *found.new_token)
        numerators, self._denominator = over_one_denominator([Decimal(str(v)) for v in values])
        self._coefficients, self._slopes = numerators[:5], numerators[5:]
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
        return self._duration(new_tokens, counts)

    def decode_ends_ns(self, requests: int, context: int, steps: int) -> Sequence[int]:
        """A range where the context has no price."""
        self._stretch = (requests, context)
        return growing_ends_ns(
            lambda length: self._duration(requests, (0, requests, 0, length)),
            requests, context, steps,
        )  # fmt: skip

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

    def _duration(self, new_tokens: int, counts: tuple[int, int, int, int]) -> int:
        constant, *of_counts = self._coefficients
        numerator = constant + sum(a * b for a, b in zip(of_counts, counts, strict=True))
        in_segments = segments(new_tokens, self._file.coefficients_s.knots)
        numerator += sum(a * b for a, b in zip(self._slopes, in_segments, strict=True))
        return rounded(numerator, self._denominator)

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


def fitted_model(table: Mapping[str, object], files: LatencyFiles) -> FittedModel:
    """The coefficients of the file that `latency.file` names; BadInput if it is no such file."""
    place = text(table, "latency", "file")
    return FittedModel(read_fitted(files.text(place), place), place)
