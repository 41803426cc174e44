"""How many parameters a model has, where they are, and how many bytes they take.

All counts are those of one of `tensor_parallel` ranks: heads, feed-forward columns and vocabulary
are split (rounded up), KV heads are repeated where there are fewer than ranks, norms, routers and
the compressed projections of MLA are on every rank.
"""

from dataclasses import dataclass

from cachecast_sim.latency.shape import DTYPE_BITS, ModelShape, check_parallel


@dataclass(frozen=True, slots=True)
class Weights:
    """Parameters of one rank, by how they take part in a step.

    `attention` and `feed_forward` (dense layers and shared experts) are matrices that work on every
    token, summed over the layers, as `router` is; `expert` is one routed expert of one layer.
    `small` are norms, biases and sinks. `head` is 0 where the embedding serves as head.
    """

    attention: int
    feed_forward: int
    router: int
    expert: int
    expert_layers: int
    experts: int
    experts_per_token: int
    small: int
    embedding: int
    head: int

    @property
    def total(self) -> int:
        """All parameters."""
        routed = self.expert * self.experts * self.expert_layers
        return self.every_token + routed + self.small + self.embedding + self.head

    @property
    def every_token(self) -> int:
        """Matrix elements that every token meets, whatever expert it goes to."""
        return self.attention + self.feed_forward + self.router

    @property
    def active(self) -> int:
        """Matrix elements that one token meets, with the head and without the embedding look-up."""
        routed = self.expert * self.experts_per_token * self.expert_layers
        return self.every_token + routed + (self.head or self.embedding)


def weights_of(shape: ModelShape, tensor_parallel: int = 1) -> Weights:
    """The parameters of one rank; BadInput where the shape cannot be split so."""
    check_parallel(shape, tensor_parallel)
    attention, attention_small = _attention(shape, tensor_parallel)
    experts = shape.experts
    dense_layers = shape.layers if experts is None else experts.dense_layers
    expert_layers = shape.layers - dense_layers
    dense = 3 * shape.hidden * _split(shape.intermediate, tensor_parallel)
    small = shape.layers * (2 * shape.hidden + attention_small) + shape.hidden
    feed_forward, router, expert = dense_layers * dense, 0, 0
    if shape.mlp_bias:
        small += dense_layers * (2 * _split(shape.intermediate, tensor_parallel) + shape.hidden)
    if experts is not None:
        width = _split(experts.intermediate, tensor_parallel)
        expert = 3 * shape.hidden * width
        feed_forward += expert_layers * experts.shared * expert
        router = expert_layers * shape.hidden * experts.count
        small += expert_layers * experts.count * experts.router_bias
        if shape.mlp_bias:
            small += expert_layers * experts.count * (2 * width + shape.hidden)
    vocabulary = _split(shape.vocab, tensor_parallel) * shape.hidden
    return Weights(
        attention=shape.layers * attention,
        feed_forward=feed_forward,
        router=router,
        expert=expert,
        expert_layers=expert_layers if experts else 0,
        experts=experts.count if experts else 0,
        experts_per_token=experts.per_token if experts else 0,
        small=small,
        embedding=vocabulary,
        head=0 if shape.tied_embeddings else vocabulary,
    )


def parameter_bytes(shape: ModelShape, tensor_parallel: int = 1) -> int:
    """Bytes of one rank's weights.

    Experts are in `expert_dtype`, attention and feed-forward in `weight_dtype`, everything else in
    `embedding_dtype`; scales of quantised weights are not counted, except mxfp4's.
    """
    weights = weights_of(shape, tensor_parallel)
    routed = weights.expert * weights.experts * weights.expert_layers
    other = weights.small + weights.router + weights.embedding + weights.head
    bits = (
        (weights.attention + weights.feed_forward) * DTYPE_BITS[shape.weight_dtype]
        + routed * DTYPE_BITS[shape.expert_dtype]
        + other * DTYPE_BITS[shape.embedding_dtype]
    )
    return -int(-bits // 8)


def _attention(shape: ModelShape, ranks: int) -> tuple[int, int]:
    """Matrix elements and small parameters of one layer's attention on one rank."""
    heads = shape.heads // ranks
    if shape.latent is not None:
        return _latent(shape, heads)
    queries, kv = heads * shape.head_dim, kv_heads_of(shape, ranks) * shape.head_dim
    small = (queries + 2 * kv) * shape.qkv_bias + shape.hidden * shape.output_bias
    small += 2 * shape.head_dim * shape.qk_norm + heads * shape.sinks
    return shape.hidden * (2 * queries + 2 * kv), small


def _latent(shape: ModelShape, heads: int) -> tuple[int, int]:
    latent = shape.latent
    assert latent is not None  # the caller's branch
    query_dim = heads * (latent.qk_nope_head_dim + latent.qk_rope_head_dim)
    up = latent.kv_lora_rank * heads * (latent.qk_nope_head_dim + latent.v_head_dim)
    matrices = shape.hidden * (latent.cached_elements + heads * latent.v_head_dim) + up
    if latent.q_lora_rank is None:
        return matrices + shape.hidden * query_dim, latent.kv_lora_rank
    compressed = latent.q_lora_rank * (shape.hidden + query_dim)
    return matrices + compressed, latent.kv_lora_rank + latent.q_lora_rank


def kv_heads_of(shape: ModelShape, ranks: int) -> int:
    """KV heads that one rank keeps: its share, at least one."""
    return max(1, shape.kv_heads // ranks)


def _split(columns: int, ranks: int) -> int:
    return -(-columns // ranks)
