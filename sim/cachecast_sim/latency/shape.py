"""The shape of a transformer: what decides its weights, its KV cache and its work per token."""

from dataclasses import dataclass, replace
from fractions import Fraction

from cachecast_datasets.errors import BadInput
from cachecast_sim.latency.fields import nearest

# bits of one element; scales beside the values count only where the format fixes them (mxfp4: one
# byte for each 32 values)
DTYPE_BITS = {
    "fp32": Fraction(32),
    "bf16": Fraction(16),
    "fp16": Fraction(16),
    "fp8": Fraction(8),
    "int8": Fraction(8),
    "mxfp4": Fraction(17, 4),
    "int4": Fraction(4),
}
UNQUANTISED = ("fp32", "bf16", "fp16")
KV_DTYPES = ("fp32", "bf16", "fp16", "fp8", "int8")


@dataclass(frozen=True, slots=True)
class LatentAttention:
    """Multi-head latent attention (MLA): one compressed entry a token for all heads."""

    q_lora_rank: int | None
    kv_lora_rank: int
    qk_nope_head_dim: int
    qk_rope_head_dim: int
    v_head_dim: int

    @property
    def cached_elements(self) -> int:
        """Elements of a token's cache entry in one layer; there is no second one for values."""
        return self.kv_lora_rank + self.qk_rope_head_dim


@dataclass(frozen=True, slots=True)
class Experts:
    """A mixture of experts: `per_token` of `count` work on a token, and `shared` ones always.

    `dense_layers` are the first layers, which have an ordinary feed-forward instead.
    `router_bias`: the router holds one more number for each expert.
    """

    count: int
    per_token: int
    intermediate: int
    shared: int = 0
    dense_layers: int = 0
    router_bias: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelShape:
    """A decoder with gated feed-forwards (three matrices) and rotary positions.

    `intermediate` belongs to the dense feed-forwards. `window_layers` of the layers attend to the
    last `window_tokens` only. `sinks`: one learned number for each head and layer.
    """

    name: str
    layers: int
    hidden: int
    intermediate: int
    heads: int
    kv_heads: int
    head_dim: int
    vocab: int
    tied_embeddings: bool = False
    qkv_bias: bool = False
    output_bias: bool = False
    mlp_bias: bool = False
    qk_norm: bool = False
    sinks: bool = False
    latent: LatentAttention | None = None
    experts: Experts | None = None
    window_tokens: int | None = None
    window_layers: int = 0
    weight_dtype: str = "bf16"
    expert_dtype: str = "bf16"
    embedding_dtype: str = "bf16"
    kv_dtype: str = "bf16"

    def in_dtypes(
        self, weight: str | None = None, expert: str | None = None, kv: str | None = None
    ) -> "ModelShape":
        """The same shape held in other dtypes; BadInput lists the known ones.

        `weight` goes for the experts too unless they have their own; an unquantised one for the
        whole model, as a server's `--dtype` does, a quantised one not for embeddings and norms.
        """
        experts = expert or weight or self.expert_dtype
        for dtype, known in ((weight, DTYPE_BITS), (experts, DTYPE_BITS), (kv, KV_DTYPES)):
            if dtype is not None and dtype not in known:
                raise BadInput(f"unknown dtype {dtype!r}{nearest(dtype, known)}")
        plain = weight if weight in UNQUANTISED else None
        return replace(
            self,
            weight_dtype=weight or self.weight_dtype,
            expert_dtype=experts,
            embedding_dtype=plain or self.embedding_dtype,
            kv_dtype=kv or plain or self.kv_dtype,
        )


def check_parallel(shape: ModelShape, tensor_parallel: int) -> None:
    """BadInput where the heads cannot be split over that many ranks (vLLM refuses it as well)."""
    if tensor_parallel < 1 or not _splits(shape, tensor_parallel):
        fit = [ranks for ranks in range(1, shape.heads + 1) if _splits(shape, ranks)]
        raise BadInput(
            f"tensor_parallel is {tensor_parallel}, but {shape.name} has {shape.heads} heads and "
            f"{shape.kv_heads} KV heads; expected one of {', '.join(map(str, fit))}"
        )


def _splits(shape: ModelShape, ranks: int) -> bool:
    """Whole heads on every rank; KV heads are shared out, or repeated where there are too few."""
    if shape.heads % ranks:
        return False
    if shape.latent is not None:
        return True
    return shape.kv_heads % ranks == 0 or ranks % shape.kv_heads == 0
