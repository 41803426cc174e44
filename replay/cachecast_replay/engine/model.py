"""The decoder: Llama's layers over a paged KV cache."""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import embedding, rms_norm, silu

from cachecast_replay.engine.attention.rows import Attend, Attention, Rows
from cachecast_replay.engine.kv_cache import KVCache
from cachecast_replay.engine.products import Product, can_pack, product, widened
from cachecast_replay.engine.shape import ModelShape
from cachecast_replay.engine.weights import Weights


@dataclass(frozen=True, slots=True)
class StepInputs:
    """The new tokens of one step, all sequences one after the other, on the model's device."""

    token_ids: Tensor  # (tokens,), int64
    positions: Tensor  # (tokens,), int64, from 0 in each sequence
    slots: Tensor  # (tokens,), int64: where K and V go, block number * block_tokens + offset
    rows: Rows
    wanted: Tensor | None  # (wanted,), int64: tokens whose hidden state is asked for; None = all


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer's norms, and its matrices as what they do to rows (see LayerWeights)."""

    attention_norm: Tensor
    qkv: Product
    out: Product
    mlp_norm: Tensor
    gate_up: Product
    down: Product


class Model:
    """Weights, and how they are applied. It keeps nothing between steps: the cache does."""

    def __init__(self, shape: ModelShape, weights: Weights, attention: Attention) -> None:
        self._shape = shape
        self._attention = attention
        self._embedding, self._norm = weights.embedding, weights.norm
        self._head = product(weights.head)
        self._packs = can_pack(weights.head)
        self._layers = [
            Layer(
                layer.attention_norm,
                product(layer.qkv),
                product(layer.out),
                layer.mlp_norm,
                product(layer.gate_up),
                product(layer.down),
            )
            for layer in weights.layers
        ]
        # (head_dim / 2,)
        self._frequencies = torch.tensor(
            shape.rope.frequencies(shape.head_dim), dtype=torch.float32, device=weights.device
        )

    @torch.inference_mode()
    def hidden(self, inputs: StepInputs, cache: KVCache) -> Tensor:
        """Hidden states after the last norm, (wanted, hidden); writes K and V of all new tokens."""
        attend = self._attention(inputs.rows)
        turns = self._turns(inputs.positions)
        # (tokens, hidden), and some rows that nobody looks at: widened here, no product has to
        x = self._widened(embedding(inputs.token_ids, self._embedding))
        rows, last = len(inputs.token_ids), len(self._layers) - 1
        for number, layer in enumerate(self._layers):
            k, v = cache.layer(number)
            mixed = self._attend(layer, x, turns, (k, v), inputs.slots, attend)
            if number == last and inputs.wanted is not None:
                # nothing reads the other tokens' hidden states any more: their K and V are written
                rows = len(inputs.wanted)
                x, mixed = self._widened(x[inputs.wanted]), mixed[inputs.wanted]
            x = x + layer.out(self._widened(mixed))
            x = x + self._mlp(layer, x)
        return self._normed(x[:rows], self._norm)

    @torch.inference_mode()
    def logits(self, hidden: Tensor) -> Tensor:
        """(tokens, vocab), in float32."""
        return self._head(hidden).float()

    def _attend(
        self,
        layer: Layer,
        x: Tensor,
        turns: tuple[Tensor, Tensor],
        kv: tuple[Tensor, Tensor],
        slots: Tensor,
        attend: Attend,
    ) -> Tensor:
        """What each new token takes from its context, (tokens, heads * head_dim)."""
        shape = self._shape
        tokens, heads, turned_heads = len(slots), shape.heads, shape.heads + shape.kv_heads
        qkv = layer.qkv(self._normed(x, layer.attention_norm))[:tokens]
        qkv = qkv.view(tokens, turned_heads + shape.kv_heads, shape.head_dim)
        turned = _turned(qkv[:, :turned_heads], turns)  # (tokens, heads + kv_heads, head_dim)
        # all new K and V are there before anyone looks: sequences of one step may share blocks
        for pages, rows in zip(kv, (turned[:, heads:], qkv[:, turned_heads:]), strict=True):
            pages.view(-1, shape.kv_heads, shape.head_dim).index_copy_(0, slots, rows)
        return attend(turned[:, :heads], *kv).flatten(1)

    def _mlp(self, layer: Layer, x: Tensor) -> Tensor:
        gate, up = layer.gate_up(self._normed(x, layer.mlp_norm)).chunk(2, dim=-1)
        return layer.down(silu(gate).mul_(up))  # (tokens, hidden)

    def _widened(self, rows: Tensor) -> Tensor:
        return widened(rows) if self._packs else rows

    def _normed(self, x: Tensor, weight: Tensor) -> Tensor:
        return rms_norm(x, weight.shape, weight, self._shape.norm_eps)

    def _turns(self, positions: Tensor) -> tuple[Tensor, Tensor]:
        """Cosine and sine of each token's angles, (tokens, 1, head_dim / 2)."""
        angles = positions[:, None, None].float() * self._frequencies
        dtype = self._embedding.dtype
        return angles.cos().to(dtype), angles.sin().to(dtype)


def _turned(x: Tensor, turns: tuple[Tensor, Tensor]) -> Tensor:
    """`x` (tokens, heads, head_dim) with its pairs (i, i + head_dim / 2) turned by their angle."""
    cosine, sine = turns
    one, other = x.chunk(2, dim=-1)
    return torch.cat(
        (
            (one * cosine).addcmul_(other, sine, value=-1),
            (other * cosine).addcmul_(one, sine),
        ),
        dim=-1,
    )
