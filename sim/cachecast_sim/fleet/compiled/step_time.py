"""Step times in machine code: the same operations in the same order as the latency models."""

import numpy as np
import numpy.typing as npt

from cachecast_sim.curve.jit import part
from cachecast_sim.latency import terms as at

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@part
def attended(whole: Ints, pairs: int, queries: int) -> int:
    """`latency.work.attended`; a window of 0 tokens is none."""
    if whole[at.WINDOW_TOKENS] == 0:
        every: int = whole[at.LAYERS] * pairs
        return every
    inside = min(pairs, queries * whole[at.WINDOW_TOKENS])
    both: int = (whole[at.LAYERS] - whole[at.WINDOW_LAYERS]) * pairs + whole[
        at.WINDOW_LAYERS
    ] * inside
    return both


@part
def step_ns(
    whole: Ints, real: Floats, experts: Floats, prefill_tokens: int, prefill_requests: int,
    prefill_context: int, decode_requests: int, decode_context: int,
) -> int:  # fmt: skip
    """`LatencyModel.step_ns`. `experts`: how many so many tokens read; empty if there are none."""
    tokens = prefill_tokens + decode_requests
    duration_ns: int = whole[at.DECODE_NS]
    if whole[0] == at.FIXED:
        if prefill_tokens:
            duration_ns = whole[at.MIXED_NS] if decode_requests else whole[at.PREFILL_NS]
        return duration_ns
    if whole[0] == at.LINEAR:
        denominator = whole[at.DENOMINATOR]
        numerator = whole[at.BASE] + whole[at.PER_TOKEN] * tokens
        duration_ns = (2 * numerator + denominator) // (2 * denominator)
        return max(1, duration_ns)
    pairs = attended(whole, prefill_context, prefill_tokens)
    read = attended(whole, decode_context, decode_requests)
    rows = prefill_requests + decode_requests
    compute = (
        tokens * real[at.TOKEN] + rows * real[at.ROW] + pairs * real[at.PREFILL_PAIR]
        + read * real[at.DECODE_PAIR]
    )  # fmt: skip
    moved = whole[at.FIXED_BYTES] + (read + whole[at.LAYERS] * tokens) * whole[at.ENTRY_BYTES]
    if len(experts):
        memory = (moved + real[at.EXPERT_BYTES] * experts[tokens]) * real[at.BYTE]
    else:
        memory = moved * real[at.BYTE]
    slower = compute if compute > memory else memory
    duration_ns = int(slower + tokens * real[at.LINK] + real[at.OVERHEAD] + 0.5)
    return max(1, duration_ns)
