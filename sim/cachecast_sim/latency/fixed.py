"""`fixed`: one duration for steps with prefill, one for steps with decode, their sum for both."""

from collections.abc import Mapping, Sequence
from decimal import Decimal

from cachecast_sim.latency.exact import over_one_denominator, rounded
from cachecast_sim.latency.fields import number
from cachecast_sim.latency.files import LatencyFiles
from cachecast_sim.latency.linear import LONGEST_S
from cachecast_sim.latency.model import LatencyModel, equal_ends_ns
from cachecast_sim.latency.terms import FIXED, Terms

FIELDS = {
    "prefill_step_s": "seconds of a step that computes prompt tokens, 0 to 86400",
    "decode_step_s": "seconds of a step that only decodes; added to the above in a mixed step",
}


class FixedModel(LatencyModel):
    """The number of tokens does not matter, as in simulators of queueing alone."""

    __slots__ = ("_decode_ns", "_mixed_ns", "_prefill_ns")

    def __init__(self, prefill_step_s: Decimal, decode_step_s: Decimal) -> None:
        (prefill, decode), denominator = over_one_denominator((prefill_step_s, decode_step_s))
        self._prefill_ns = rounded(prefill, denominator)
        self._decode_ns = rounded(decode, denominator)
        self._mixed_ns = rounded(prefill + decode, denominator)

    def step_ns(
        self, prefill_tokens: int, prefill_requests: int, prefill_context: int,
        decode_requests: int, decode_context: int,
    ) -> int:  # fmt: skip
        """Which of the three durations it is."""
        if not prefill_tokens:
            return self._decode_ns
        return self._mixed_ns if decode_requests else self._prefill_ns

    def decode_ends_ns(self, requests: int, context: int, steps: int) -> Sequence[int]:
        """All steps last equally long."""
        return equal_ends_ns(self._decode_ns, steps)

    def chunk_ends_ns(
        self, chunk: int, computed: int, decode_requests: int, decode_context: int, steps: int
    ) -> Sequence[int]:
        """All steps last equally long."""
        return equal_ends_ns(self.step_ns(chunk, 1, 0, decode_requests, decode_context), steps)

    def terms(self) -> Terms:
        """The three durations."""
        return Terms((FIXED, self._prefill_ns, self._decode_ns, self._mixed_ns))


def fixed_model(table: Mapping[str, object], files: LatencyFiles) -> FixedModel:
    """The model that the table describes; BadInput for a value that is none."""
    return FixedModel(
        number(table, "latency", "prefill_step_s", "0", LONGEST_S),
        number(table, "latency", "decode_step_s", "0", LONGEST_S),
    )
