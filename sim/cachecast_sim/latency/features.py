"""What a fitted step time is a sum of; the calibration and the prediction count it alike."""

from collections.abc import Sequence

# Best of what was tried: constant, counts and context with a piecewise-linear basis in new tokens
# (docs/latency.md). Segment i is the tokens in (knot i, knot i + 1]; the last one is open.
# Each number up to 8 is a knot, since kernels for few rows are steps and not lines.
KNOTS = (1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 32, 64, 128, 256, 512)
COUNTS = ("prefill_requests", "decode_requests", "prefill_pairs", "decode_context", "held_tokens")


def segments(new_tokens: int, knots: Sequence[int]) -> list[int]:
    """How many of the new tokens lie in each segment; none of them up to the first knot.

    `segments(5, (1, 2, 4))` is `[1, 2, 1]`. The sum is max(0, new_tokens - knots[0]).
    """
    ends = [*knots[1:], max(new_tokens, knots[-1])]
    return [
        min(max(new_tokens - low, 0), high - low) for low, high in zip(knots, ends, strict=True)
    ]


def feature_names(knots: Sequence[int]) -> list[str]:
    """Names of the features in the order of `features`."""
    return ["constant", *(f"new_tokens_above_{knot}" for knot in knots), *COUNTS]


def features(
    prefill_tokens: int, prefill_requests: int, prefill_context: int,
    decode_requests: int, decode_context: int, held_tokens: int, knots: Sequence[int] = KNOTS,
) -> list[int]:  # fmt: skip
    """One step's row of the design matrix: 1, the segments, then `COUNTS`."""
    in_segments = segments(prefill_tokens + decode_requests, knots)
    counts = (prefill_requests, decode_requests, prefill_context, decode_context, held_tokens)
    return [1, *in_segments, *counts]
