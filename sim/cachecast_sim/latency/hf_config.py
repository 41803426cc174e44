"""A model shape from a `config.json` as Hugging Face's transformers write it."""

from collections.abc import Mapping
from dataclasses import dataclass

from cachecast_datasets.errors import BadInput
from cachecast_sim.latency.fields import nearest, whole
from cachecast_sim.latency.shape import Experts, LatentAttention, ModelShape

_MOST = 10**8
_DTYPES = {"bfloat16": "bf16", "float16": "fp16", "float32": "fp32"}


@dataclass(frozen=True, slots=True)
class _Family:
    """What the code of a `model_type` does without its config saying so."""

    qkv_bias: bool = False  # of queries, keys and values, not of the output
    qk_norm: bool = False
    mlp_bias: bool = False
    router_bias: bool = False
    sinks: bool = False
    latent: bool = False
    window_everywhere: bool = False  # `sliding_window` holds for all layers


FAMILIES = {
    "llama": _Family(),
    "mistral": _Family(window_everywhere=True),
    "mixtral": _Family(window_everywhere=True),
    "qwen2": _Family(qkv_bias=True),
    "qwen3": _Family(qk_norm=True),
    "qwen3_moe": _Family(qk_norm=True),
    "deepseek_v3": _Family(latent=True, router_bias=True),
    "kimi_k2": _Family(latent=True, router_bias=True),
    "gpt_oss": _Family(mlp_bias=True, router_bias=True, sinks=True),
}


def shape_of_config(config: Mapping[str, object], name: str) -> ModelShape:
    """The shape that a config describes; `name` is for messages.

    BadInput for a model type whose weights we do not know, a missing or impossible field, and a
    quantisation that does not tell its bits.
    """
    family = _family(config, name)
    heads = _whole(config, name, "num_attention_heads")
    hidden = _whole(config, name, "hidden_size")
    layers = _whole(config, name, "num_hidden_layers")
    experts = _experts(config, name, family, layers)
    weight, expert, plain = _dtypes(config, name)
    window_layers = _window_layers(config, name, family, layers)
    bias = bool(config.get("attention_bias"))
    return ModelShape(
        name=name,
        layers=layers,
        hidden=hidden,
        intermediate=_whole(config, name, "intermediate_size"),
        heads=heads,
        kv_heads=_whole(config, name, "num_key_value_heads", heads),
        head_dim=_whole(config, name, "head_dim", hidden // heads),
        vocab=_whole(config, name, "vocab_size"),
        tied_embeddings=bool(config.get("tie_word_embeddings")),
        qkv_bias=family.qkv_bias or bias,
        output_bias=bias,
        mlp_bias=family.mlp_bias or bool(config.get("mlp_bias")),
        qk_norm=family.qk_norm,
        sinks=family.sinks,
        latent=_latent(config, name) if family.latent else None,
        experts=experts,
        window_tokens=_whole(config, name, "sliding_window") if window_layers else None,
        window_layers=window_layers,
        weight_dtype=weight,
        expert_dtype=expert,
        embedding_dtype=plain,
        kv_dtype=plain,
    )


def _family(config: Mapping[str, object], name: str) -> _Family:
    found = config.get("model_type")
    if not isinstance(found, str) or found not in FAMILIES:
        raise BadInput(f"{name}: unknown model_type {found!r}{nearest(str(found), FAMILIES)}")
    return FAMILIES[found]


def _experts(
    config: Mapping[str, object], name: str, family: _Family, layers: int
) -> Experts | None:
    counts = [k for k in ("n_routed_experts", "num_local_experts", "num_experts") if config.get(k)]
    if not counts:
        return None
    if config.get("mlp_only_layers") or config.get("decoder_sparse_step", 1) != 1:
        raise BadInput(f"{name}: layers without experts in between are not known here")
    own = "moe_intermediate_size" in config
    return Experts(
        count=_whole(config, name, counts[0]),
        per_token=_whole(config, name, "num_experts_per_tok"),
        intermediate=_whole(config, name, "moe_intermediate_size" if own else "intermediate_size"),
        shared=whole(config, name, "n_shared_experts", 0, 1000, 0),
        dense_layers=whole(config, name, "first_k_dense_replace", 0, layers, 0),
        router_bias=family.router_bias,
    )


def _latent(config: Mapping[str, object], name: str) -> LatentAttention:
    compressed = config.get("q_lora_rank") is not None
    return LatentAttention(
        q_lora_rank=_whole(config, name, "q_lora_rank") if compressed else None,
        kv_lora_rank=_whole(config, name, "kv_lora_rank"),
        qk_nope_head_dim=_whole(config, name, "qk_nope_head_dim"),
        qk_rope_head_dim=_whole(config, name, "qk_rope_head_dim"),
        v_head_dim=_whole(config, name, "v_head_dim"),
    )


def _window_layers(config: Mapping[str, object], name: str, family: _Family, layers: int) -> int:
    """How many layers attend to a window only."""
    kinds = config.get("layer_types")
    if isinstance(kinds, list):
        known = {"sliding_attention", "full_attention"}
        if len(kinds) != layers or not set(kinds) <= known:
            raise BadInput(
                f"{name}.layer_types: expected {layers} times sliding_attention or full_attention"
            )
        return kinds.count("sliding_attention")
    if config.get("sliding_window") is None:
        return 0
    if config.get("use_sliding_window"):
        return layers - whole(config, name, "max_window_layers", 0, layers)
    return layers if family.window_everywhere else 0


def _dtypes(config: Mapping[str, object], name: str) -> tuple[str, str, str]:
    """Dtypes of the matrices, of the experts, and of embeddings and KV cache."""
    written = config.get("torch_dtype") or config.get("dtype") or "bfloat16"
    if not isinstance(written, str) or written not in _DTYPES:
        raise BadInput(f"{name}.torch_dtype is {written!r}, expected {', '.join(_DTYPES)}")
    plain = _DTYPES[written]
    quantised = config.get("quantization_config")
    if quantised is None:
        return plain, plain, plain
    if not isinstance(quantised, Mapping):
        raise BadInput(f"{name}.quantization_config is {quantised!r}, expected a table")
    method, bits = quantised.get("quant_method"), quantised.get("bits")
    if method == "fp8":
        return "fp8", "fp8", plain
    if method == "mxfp4":
        return plain, "mxfp4", plain
    if method in ("awq", "gptq") and bits in (4, 8):
        return f"int{bits}", f"int{bits}", plain
    raise BadInput(
        f"{name}.quantization_config: unknown quant_method {method!r} with bits {bits!r}; "
        "known: fp8, mxfp4, awq and gptq with bits 4 or 8"
    )


def _whole(config: Mapping[str, object], name: str, field: str, default: int | None = None) -> int:
    return whole(config, name, field, 1, _MOST, default)
