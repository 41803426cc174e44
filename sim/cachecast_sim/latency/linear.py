"""`linear`: a base and a price per scheduled token, as in the golden files."""

from collections.abc import Mapping, Sequence
from decimal import Decimal

from cachecast_sim.latency.exact import over_one_denominator, rounded
from cachecast_sim.latency.fields import number
from cachecast_sim.latency.files import LatencyFiles
from cachecast_sim.latency.model import LatencyModel, equal_ends_ns
from cachecast_sim.latency.terms import LINEAR, Terms

FIELDS = {
    "step_base_s": "seconds of every step, 0 to 86400",
    "per_token_s": "seconds for each token computed in the step, 0 to 86400",
}
LONGEST_S = "86400"


class LinearModel(LatencyModel):
    """step = base + per_token * (prefill tokens + decode requests), exact, then rounded once."""

    __slots__ = ("_base", "_denominator", "_per_token")

    def __init__(self, step_base_s: Decimal, per_token_s: Decimal) -> None:
        (self._base, self._per_token), self._denominator = over_one_denominator(
            (step_base_s, per_token_s)
        )

    def step_ns(
        self, prefill_tokens: int, prefill_requests: int, prefill_context: int,
        decode_requests: int, decode_context: int,
    ) -> int:  # fmt: skip
        """The context costs nothing here."""
        tokens = prefill_tokens + decode_requests
        return rounded(self._base + self._per_token * tokens, self._denominator)

    def decode_ends_ns(self, requests: int, context: int, steps: int) -> Sequence[int]:
        """All steps last equally long."""
        return equal_ends_ns(self.step_ns(0, 0, 0, requests, context), steps)

    def chunk_ends_ns(
        self, chunk: int, computed: int, decode_requests: int, decode_context: int, steps: int
    ) -> Sequence[int]:
        """All steps last equally long."""
        return equal_ends_ns(self.step_ns(chunk, 1, 0, decode_requests, decode_context), steps)

    def terms(self) -> Terms:
        """Base and price as fractions of a nanosecond."""
        return Terms((LINEAR, self._base, self._per_token, self._denominator))


def linear_model(table: Mapping[str, object], files: LatencyFiles) -> LinearModel:
    """The model that the table describes; BadInput for a value that is none."""
    return LinearModel(
        number(table, "latency", "step_base_s", "0", LONGEST_S),
        number(table, "latency", "per_token_s", "0", LONGEST_S),
    )
