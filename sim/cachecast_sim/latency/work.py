"""Arithmetic and bytes of one engine step on one tensor-parallel rank, per unit of its counts."""

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from cachecast_sim.latency.kv_memory import kv_bytes_per_layer
from cachecast_sim.latency.shape import DTYPE_BITS, ModelShape
from cachecast_sim.latency.weights import Weights, parameter_bytes, weights_of

Steps = npt.NDArray[Any]  # a value for each of several steps: whole numbers, perhaps as floats
Growing = tuple[int, int]  # the first step's count, and so many more in each later one


@dataclass(frozen=True, slots=True)
class Work:
    """FLOPs (one multiply-add is two) and bytes of one rank.

    `token_flops` and `expert_flops`: matrices that each token meets, always or by routing.
    `row_flops`: the head, for each request that yields a token. `pair_flops`: one query with one
    key in one layer, in prefill and in decode.
    `fixed_bytes` are weights that every step reads once: all but the routed experts and a separate
    embedding, of which a step reads single rows. `expert_bytes`: one expert in every layer that has
    any. `kv_layer_bytes`: one token's entry in one layer.
    `all_reduce_bytes`: the two sums per layer of one token's activations in 16 bits.
    """

    token_flops: int
    expert_flops: int
    row_flops: int
    prefill_pair_flops: int
    decode_pair_flops: int
    fixed_bytes: int
    expert_bytes: float
    kv_layer_bytes: int
    all_reduce_bytes: int


def work_of(shape: ModelShape, tensor_parallel: int) -> Work:
    """The work of one rank; BadInput where the shape cannot be split so."""
    weights = weights_of(shape, tensor_parallel)
    prefill, decode = _pair_flops(shape, tensor_parallel)
    all_experts = weights.expert * weights.expert_layers
    expert_bytes = float(all_experts * DTYPE_BITS[shape.expert_dtype] / 8)
    unread = 0 if shape.tied_embeddings else weights.embedding
    return Work(
        token_flops=2 * weights.every_token,
        expert_flops=2 * all_experts * weights.experts_per_token,
        row_flops=2 * (weights.head or weights.embedding),
        prefill_pair_flops=prefill,
        decode_pair_flops=decode,
        fixed_bytes=_fixed_bytes(shape, tensor_parallel, weights, unread),
        expert_bytes=expert_bytes,
        kv_layer_bytes=kv_bytes_per_layer(shape, tensor_parallel),
        all_reduce_bytes=2 * shape.layers * shape.hidden * 2,
    )


def _fixed_bytes(shape: ModelShape, ranks: int, weights: Weights, unread: int) -> int:
    routed = weights.expert * weights.experts * weights.expert_layers
    skipped = routed * DTYPE_BITS[shape.expert_dtype] + unread * DTYPE_BITS[shape.embedding_dtype]
    return parameter_bytes(shape, ranks) - int(skipped // 8)


def _pair_flops(shape: ModelShape, ranks: int) -> tuple[int, int]:
    """Scores and weighted values: 2 FLOPs for each element of key and value, for each head.

    MLA decodes on the compressed entry itself (keys of kv_lora_rank + rope, values of
    kv_lora_rank), and prefills on the unpacked heads.
    """
    heads = shape.heads // ranks
    latent = shape.latent
    if latent is None:
        both = 2 * heads * 2 * shape.head_dim
        return both, both
    unpacked = latent.qk_nope_head_dim + latent.qk_rope_head_dim + latent.v_head_dim
    return 2 * heads * unpacked, 2 * heads * (latent.cached_elements + latent.kv_lora_rank)


def attended(shape: ModelShape, pairs: int, queries: int) -> int:
    """Pairs over all layers, where layers with a window count at most that many per query.

    An upper bound in a mixed batch: short and long requests are not told apart.
    """
    if shape.window_tokens is None:
        return shape.layers * pairs
    inside = min(pairs, queries * shape.window_tokens)
    return (shape.layers - shape.window_layers) * pairs + shape.window_layers * inside


def attended_by_all(shape: ModelShape, pairs: Growing, queries: int, steps: Steps) -> Steps:
    """The same for each of the steps with these numbers, whose pairs grow from one to the next."""
    first, more = pairs
    if shape.window_tokens is None:
        return shape.layers * more * steps + shape.layers * first
    every = more * steps + first
    inside = np.minimum(every, queries * shape.window_tokens)
    found: Steps = (shape.layers - shape.window_layers) * every + shape.window_layers * inside
    return found


@cache
def experts_read(count: int, per_token: int, tokens: int) -> float:
    """Expected number of different experts that `tokens` tokens go to, if all are equally likely.

    count * (1 - (1 - per_token / count) ** tokens)
    """
    return count * (1.0 - (1.0 - per_token / count) ** tokens)
