"""The sizes of a model, from a Hugging Face style `config.json`."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cachecast_replay.engine.errors import EngineError
from cachecast_replay.engine.rope import Rope, number, rope_of

Config = dict[str, Any]

_SIZES = (
    "hidden_size", "intermediate_size", "num_attention_heads", "num_hidden_layers", "vocab_size",
)  # fmt: skip
# what a config may say only with this value, and what it means where it says nothing
_ONLY: Config = {
    "model_type": "llama", "hidden_act": "silu", "attention_bias": False, "mlp_bias": False,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class ModelShape:
    """A Llama-shaped decoder: RMSNorm, rotary positions, grouped-query attention, SwiGLU."""

    vocab_size: int
    hidden_size: int
    intermediate_size: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    norm_eps: float
    rope: Rope
    tied_embeddings: bool  # the output matrix is the embedding

    @property
    def group(self) -> int:
        """Query heads that share one K/V head."""
        return self.heads // self.kv_heads

    @property
    def kv_bytes_per_token(self) -> int:
        """K and V of one token over all layers, in float32."""
        return 2 * 4 * self.layers * self.kv_heads * self.head_dim

    @property
    def parameters(self) -> int:
        """Numbers in all weights."""
        attention = self.hidden_size * self.head_dim * 2 * (self.heads + self.kv_heads)
        layer = attention + 3 * self.hidden_size * self.intermediate_size + 2 * self.hidden_size
        embeddings = self.vocab_size * self.hidden_size * (1 if self.tied_embeddings else 2)
        return self.layers * layer + embeddings + self.hidden_size

    @property
    def flops_per_token(self) -> int:
        """Multiplications and additions of all layers' matrices for one token; no attention."""
        matrices = self.hidden_size * self.head_dim * 2 * (self.heads + self.kv_heads)
        return 2 * self.layers * (matrices + 3 * self.hidden_size * self.intermediate_size)


def read_shape(folder: Path) -> ModelShape:
    """The shape in `folder`/config.json. Raises EngineError, which names the file and the field."""
    path = folder / "config.json"
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except OSError as problem:
        raise EngineError(
            f"{path}: {problem.strerror}; expected a Hugging Face style config.json"
        ) from None
    except ValueError as problem:
        raise EngineError(f"{path}: not JSON: {problem}") from None
    if not isinstance(config, dict):
        raise EngineError(f"{path}: expected a JSON object")
    return shape_of(config, str(path))


def shape_of(config: Config, source: str) -> ModelShape:
    """The shape that a config describes; `source` names it in errors (EngineError)."""
    for field, only in _ONLY.items():
        if config.get(field, only) != only:
            raise EngineError(
                f"{source}: {field} is {config[field]!r}; the engine runs only {only!r}"
            )
    if config.get("quantization_config"):
        raise EngineError(
            f"{source}: has a quantization_config, which the engine does not run; expected a model "
            "in float32, bfloat16 or float16"
        )
    sizes = {field: _size(config, field, source) for field in _SIZES}
    heads, hidden = sizes["num_attention_heads"], sizes["hidden_size"]
    kv_heads = _size(config, "num_key_value_heads", source, heads)
    if heads % kv_heads:
        raise EngineError(
            f"{source}: num_attention_heads {heads} is no multiple of "
            f"num_key_value_heads {kv_heads}"
        )
    if config.get("head_dim") is None and hidden % heads:
        raise EngineError(
            f"{source}: hidden_size {hidden} is no multiple of num_attention_heads {heads}, "
            f"and there is no head_dim"
        )
    head_dim = _size(config, "head_dim", source, hidden // heads)
    if head_dim % 2:
        raise EngineError(f"{source}: head_dim is {head_dim}, expected an even number")
    tied = config.get("tie_word_embeddings", False)
    if not isinstance(tied, bool):
        raise EngineError(f"{source}: tie_word_embeddings is {tied!r}, expected true or false")
    return ModelShape(
        vocab_size=sizes["vocab_size"],
        hidden_size=hidden,
        intermediate_size=sizes["intermediate_size"],
        layers=sizes["num_hidden_layers"],
        heads=heads,
        kv_heads=kv_heads,
        head_dim=head_dim,
        norm_eps=number(config, "rms_norm_eps", source, 1e-6),
        rope=rope_of(config, source),
        tied_embeddings=tied,
    )


def _size(config: Config, field: str, source: str, default: int | None = None) -> int:
    value = config.get(field)
    if value is None:
        value = default
    if type(value) is not int or value < 1:
        what = "is missing" if value is None else f"is {value!r}"
        raise EngineError(f"{source}: {field} {what}, expected a whole number >= 1")
    return value
