"""Step times in machine code: the same operations in the same order as the latency models."""

import numpy as np
import numpy.typing as npt

from cachecast_sim.curve.jit import compiled
from cachecast_sim.latency.terms import (
    BASE, BYTE, DECODE_NS, DECODE_PAIR, DENOMINATOR, ENTRY_BYTES, EXPERT_BYTES, FIXED, FIXED_BYTES,
    LAYERS, LINEAR, LINK, MIXED_NS, OVERHEAD, PER_TOKEN, PREFILL_NS, PREFILL_PAIR, ROW, TOKEN,
    WINDOW_LAYERS, WINDOW_TOKENS,
)  # fmt: skip

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@compiled
def attended(whole: Ints, pairs: int, queries: int) -> int:
    """`latency.work.attended`; a window of 0 tokens is none."""
    if whole[WINDOW_TOKENS] == 0:
        return whole[LAYERS] * pairs
    inside = min(pairs, queries * whole[WINDOW_TOKENS])
    return (whole[LAYERS] - whole[WINDOW_LAYERS]) * pairs + whole[WINDOW_LAYERS] * inside


@compiled
def step_ns(
    whole: Ints, real: Floats, experts: Floats, prefill_tokens: int, prefill_requests: int,
    prefill_context: int, decode_requests: int, decode_context: int,
) -> int:  # fmt: skip
    """`LatencyModel.step_ns`. `experts`: how many so many tokens read, empty where there are none."""
    tokens = prefill_tokens + decode_requests
    if whole[0] == FIXED:
        if prefill_tokens == 0:
            return whole[DECODE_NS]
        return whole[MIXED_NS] if decode_requests else whole[PREFILL_NS]
    if whole[0] == LINEAR:
        numerator, denominator = whole[BASE] + whole[PER_TOKEN] * tokens, whole[DENOMINATOR]
        return max(1, (2 * numerator + denominator) // (2 * denominator))
    pairs = attended(whole, prefill_context, prefill_tokens)
    read = attended(whole, decode_context, decode_requests)
    rows = prefill_requests + decode_requests
    compute = (
        tokens * real[TOKEN] + rows * real[ROW] + pairs * real[PREFILL_PAIR]
        + read * real[DECODE_PAIR]
    )  # fmt: skip
    moved = whole[FIXED_BYTES] + (read + whole[LAYERS] * tokens) * whole[ENTRY_BYTES]
    if len(experts):
        memory = (moved + real[EXPERT_BYTES] * experts[tokens]) * real[BYTE]
    else:
        memory = moved * real[BYTE]
    slower = compute if compute > memory else memory
    return max(1, np.int64(slower + tokens * real[LINK] + real[OVERHEAD] + 0.5))
