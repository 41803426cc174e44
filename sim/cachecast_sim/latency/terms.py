"""A latency model as a few numbers, for kernels in machine code."""

from dataclasses import dataclass

FIXED, LINEAR, ROOFLINE = 0, 1, 2
# places in `whole` of each kind; the kind itself is the first
PREFILL_NS, DECODE_NS, MIXED_NS = 1, 2, 3
BASE, PER_TOKEN, DENOMINATOR = 1, 2, 3
LAYERS, WINDOW_LAYERS, WINDOW_TOKENS, ENTRY_BYTES, FIXED_BYTES = 1, 2, 3, 4, 5
# places in `real` of a roofline: nanoseconds of each, and the bytes of an expert
TOKEN, ROW, PREFILL_PAIR, DECODE_PAIR, BYTE, LINK, OVERHEAD, EXPERT_BYTES = range(8)


@dataclass(frozen=True, slots=True)
class Terms:
    """What `step_ns` of a model reckons with. `experts`: (count, chosen by a token)."""

    whole: tuple[int, ...]
    real: tuple[float, ...] = ()
    experts: tuple[int, int] | None = None

    def largest(self, batch_tokens: int, held_tokens: int) -> int:
        """No whole number in a step is larger where so many tokens are computed at once, and the
        requests of a step have so many."""
        if self.whole[0] == FIXED:
            return max(self.whole)
        if self.whole[0] == LINEAR:
            numerator = self.whole[BASE] + self.whole[PER_TOKEN] * batch_tokens
            return 2 * (numerator + self.whole[DENOMINATOR])
        pairs = batch_tokens * (held_tokens + batch_tokens) + held_tokens
        entries = self.whole[LAYERS] * (pairs + batch_tokens)
        return entries * self.whole[ENTRY_BYTES] + self.whole[FIXED_BYTES]
