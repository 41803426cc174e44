"""A model's weights: seeded random ones, or local safetensors with Hugging Face's names."""

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from cachecast_replay.engine.errors import EngineError
from cachecast_replay.engine.shape import ModelShape

INDEX, SINGLE = "model.safetensors.index.json", "model.safetensors"
STANDARD_DEVIATION = 0.02  # what Hugging Face initialises with
_FLOATS = (torch.float32, torch.bfloat16, torch.float16, torch.float64)
_ENDINGS = (".safetensors", ".bin", ".pt", ".pth", ".gguf")


@dataclass(frozen=True, slots=True)
class LayerWeights:
    """One layer; matrices that see the same input are one matrix, (outputs, inputs)."""

    attention_norm: Tensor  # (hidden,)
    qkv: Tensor  # ((heads + 2 kv_heads) * head_dim, hidden): queries, keys, values
    out: Tensor  # (hidden, heads * head_dim)
    mlp_norm: Tensor  # (hidden,)
    gate_up: Tensor  # (2 intermediate, hidden): the gate, then what it lets through
    down: Tensor  # (hidden, intermediate)


@dataclass(frozen=True, slots=True)
class Weights:
    """All weights, on one device and in one dtype."""

    embedding: Tensor  # (vocab, hidden)
    layers: tuple[LayerWeights, ...]
    norm: Tensor  # (hidden,)
    head: Tensor  # (vocab, hidden); the embedding itself where they are tied

    @property
    def dtype(self) -> torch.dtype:
        """Of every tensor, and so of K and V."""
        return self.embedding.dtype

    @property
    def device(self) -> torch.device:
        """Where every tensor lies."""
        return self.embedding.device


def dtype_of(device: str | torch.device) -> torch.dtype:
    """bfloat16 on a GPU; float32 on a CPU, where bfloat16 is slower by an order of magnitude."""
    return torch.bfloat16 if torch.device(device).type == "cuda" else torch.float32


def expected_shapes(shape: ModelShape) -> dict[str, tuple[int, ...]]:
    """Hugging Face's name of each tensor, and its size."""
    hidden, inner = shape.hidden_size, shape.intermediate_size
    q, kv = shape.heads * shape.head_dim, shape.kv_heads * shape.head_dim
    layer: dict[str, tuple[int, ...]] = {
        "input_layernorm": (hidden,),
        "self_attn.q_proj": (q, hidden),
        "self_attn.k_proj": (kv, hidden),
        "self_attn.v_proj": (kv, hidden),
        "self_attn.o_proj": (hidden, q),
        "post_attention_layernorm": (hidden,),
        "mlp.gate_proj": (inner, hidden),
        "mlp.up_proj": (inner, hidden),
        "mlp.down_proj": (hidden, inner),
    }
    named: dict[str, tuple[int, ...]] = {"model.embed_tokens.weight": (shape.vocab_size, hidden)}
    for number in range(shape.layers):
        named |= {f"model.layers.{number}.{part}.weight": size for part, size in layer.items()}
    named["model.norm.weight"] = (hidden,)
    if not shape.tied_embeddings:
        named["lm_head.weight"] = (shape.vocab_size, hidden)
    return named


def size_bytes(shape: ModelShape, dtype: torch.dtype) -> int:
    """What all weights take."""
    return sum(math.prod(size) for size in expected_shapes(shape).values()) * dtype.itemsize


def random_weights(
    shape: ModelShape,
    seed: int = 0,
    device: str | torch.device = "cpu",
    dtype: torch.dtype | None = None,
) -> Weights:
    """Normal weights of standard deviation 0.02 from `seed`, norms of 1; others on a GPU than on a
    CPU.

    They are drawn on the device itself, one tensor after the other: one CPU core would take minutes
    for billions of them, and no second copy of a large model is needed.
    """
    place = torch.device(device)
    generator = torch.Generator(place).manual_seed(seed)

    def draw(name: str, size: tuple[int, ...]) -> Tensor:
        if "norm" in name:
            return torch.ones(size, device=place)
        drawn = torch.randn(size, generator=generator, device=place)
        return drawn.mul_(STANDARD_DEVIATION)

    sizes = expected_shapes(shape)
    drawn = ((name, draw(name, size)) for name, size in sizes.items())
    return weights_of(shape, drawn, device, dtype)


def load_weights(
    folder: Path,
    shape: ModelShape,
    device: str | torch.device = "cpu",
    dtype: torch.dtype | None = None,
) -> Weights:
    """The safetensors of `folder`, one file or several with an index.

    Raises EngineError, which names file and tensor: missing, unknown, or of another size.
    """
    expected = expected_shapes(shape)
    named: dict[str, Tensor] = {}
    for path in _files(folder):
        for name, tensor in _tensors(path):
            if name not in expected:
                if name.endswith("rotary_emb.inv_freq") or name == "lm_head.weight":
                    continue  # a buffer of old checkpoints; a head that is tied to the embedding
                raise EngineError(f"{path}: {name} is no tensor of the model in config.json")
            if tensor.dtype not in _FLOATS:
                raise EngineError(
                    f"{path}: {name} has dtype {_name(tensor.dtype)}, expected "
                    f"{', '.join(_name(dtype) for dtype in _FLOATS)}; quantised weights are not run"
                )
            if tuple(tensor.shape) != expected[name]:
                raise EngineError(
                    f"{path}: {name} is {tuple(tensor.shape)}, config.json asks for "
                    f"{expected[name]}"
                )
            named[name] = tensor
    if missing := sorted(expected.keys() - named.keys()):
        raise EngineError(
            f"{folder}: {len(missing)} tensors of the model in config.json are missing, "
            f"{missing[0]} first"
        )
    return weights_of(shape, ((name, named.pop(name)) for name in expected), device, dtype)


def has_weights(folder: Path) -> bool:
    """Whether `folder` holds safetensors that `load_weights` would look at.

    Raises EngineError for weights under another name: they would be taken for none.
    """
    if (folder / INDEX).is_file() or (folder / SINGLE).is_file():
        return True
    others = sorted(path.name for ending in _ENDINGS for path in folder.glob(f"*{ending}"))
    if others:
        raise EngineError(
            f"{folder}: there is {others[0]}, expected weights in {SINGLE}, or in several files "
            f"with {INDEX}; without any file of weights they are random"
        )
    return False


def weights_of(
    shape: ModelShape,
    named: Iterator[tuple[str, Tensor]],
    device: str | torch.device,
    dtype: torch.dtype | None = None,
) -> Weights:
    """Weights from (name, tensor) pairs in the order of `expected_shapes`."""
    dtype = dtype_of(device) if dtype is None else dtype
    expected = expected_shapes(shape)

    def take(*names: str) -> Tensor:
        """The next tensors; several are laid one under the other."""
        parts = []
        for name in names:
            found, tensor = next(named)
            assert found == name, f"{found} where {name} was due"
            assert tuple(tensor.shape) == expected[name], name
            parts.append(tensor.to(device=device, dtype=dtype))
        return (parts[0] if len(parts) == 1 else torch.cat(parts)).contiguous()

    embedding = take("model.embed_tokens.weight")
    layers = []
    for number in range(shape.layers):
        at = f"model.layers.{number}."
        attention, mlp = at + "self_attn.", at + "mlp."
        layers.append(
            LayerWeights(
                take(at + "input_layernorm.weight"),
                take(*(f"{attention}{part}_proj.weight" for part in "qkv")),
                take(attention + "o_proj.weight"),
                take(at + "post_attention_layernorm.weight"),
                take(mlp + "gate_proj.weight", mlp + "up_proj.weight"),
                take(mlp + "down_proj.weight"),
            )
        )
    norm = take("model.norm.weight")
    head = embedding if shape.tied_embeddings else take("lm_head.weight")
    return Weights(embedding, tuple(layers), norm, head)


def _files(folder: Path) -> list[Path]:
    index = folder / INDEX
    if not index.is_file():
        if not (folder / SINGLE).is_file():
            raise EngineError(f"{folder}: neither {SINGLE} nor {INDEX} is there")
        return [folder / SINGLE]
    try:
        names = sorted(set(json.loads(index.read_text())["weight_map"].values()))
    except (ValueError, KeyError, TypeError, AttributeError):
        raise EngineError(f"{index}: expected an object with weight_map") from None
    for name in names:
        if not isinstance(name, str) or not (folder / name).is_file():
            raise EngineError(f"{index}: the file {name!r} that it names is not there")
    return [folder / name for name in names]


def _tensors(path: Path) -> Iterator[tuple[str, Tensor]]:
    try:
        from safetensors import SafetensorError, safe_open
    except ImportError:
        raise EngineError(
            f"{path}: reading weights needs safetensors: pip install 'cachecast[engine]'"
        ) from None
    try:
        with safe_open(path, framework="pt") as file:
            for name in file.keys():  # noqa: SIM118 - not a mapping
                yield name, file.get_tensor(name)
    except SafetensorError as problem:
        raise EngineError(f"{path}: not a safetensors file: {problem}") from None
    except OSError as problem:
        raise EngineError(f"{path}: cannot be read: {problem.strerror or problem}") from None


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
