"""Two fixed pieces of work that tell how fast the machine is at the moment."""

import numpy as np
import torch

from cachecast_replay.engine.attention import fastest_attention
from cachecast_replay.engine.attention.rows import Rows
from cachecast_replay.engine.kv_cache import KVCache
from cachecast_replay.engine.model import Model, StepInputs
from cachecast_replay.engine.rope import Rope
from cachecast_replay.engine.shape import ModelShape
from cachecast_replay.engine.weights import random_weights

_SQUARES, _SIDE = 11, 256
_SEQUENCES, _CONTEXT, _BLOCK_TOKENS = 4, 256, 16
_SHAPE = ModelShape(
    vocab_size=4096, hidden_size=384, intermediate_size=1024, layers=6, heads=6, kv_heads=2,
    head_dim=64, norm_eps=1e-5, rope=Rope(10_000.0), tied_embeddings=True,
)  # fmt: skip


class ModelProbe:
    """A small model of its own, and small matrices.

    `forward` is a decode step of four sequences: 44 MB of weights out of memory, scattered K and V,
    and the same Python as a real step has. `arithmetic` multiplies matrices that stay in the
    processor's cache. Neighbours on the machine slow the two by different factors
    (docs/validation.md).
    """

    def __init__(self, device: str | torch.device, threads: int = 1) -> None:
        place = torch.device(device)
        weights = random_weights(_SHAPE, 1, place)
        dtype = weights.dtype
        _, attention = fastest_attention(place, dtype, _SHAPE.head_dim, threads)
        self._model = Model(_SHAPE, weights, attention)
        self._inputs, blocks = _inputs(place)
        self._cache = KVCache(_SHAPE, blocks, _BLOCK_TOKENS, place, dtype)
        generator = torch.Generator().manual_seed(0)
        self._square = torch.randn(_SIDE, _SIDE, generator=generator).to(place)

    def forward(self) -> None:
        """One decode step, its tokens chosen, as the engine does it."""
        hidden = self._model.hidden(self._inputs, self._cache)
        self._model.logits(hidden).argmax(dim=-1).tolist()

    def arithmetic(self) -> None:
        """Products of small matrices."""
        with torch.inference_mode():
            square = self._square
            for _ in range(_SQUARES):
                square = torch.mm(self._square, square)
                square = square / square.abs().max()
            if square.device.type == "cuda":
                torch.cuda.synchronize(square.device)


def _inputs(device: torch.device) -> tuple[StepInputs, int]:
    """One more token for each sequence, each in blocks of its own; how many blocks there are."""
    each = _CONTEXT // _BLOCK_TOKENS + 1
    tables = np.arange(_SEQUENCES * each, dtype=np.int32).reshape(_SEQUENCES, each)
    rows = Rows([_CONTEXT] * _SEQUENCES, [1] * _SEQUENCES, torch.from_numpy(tables).to(device))
    slots = torch.from_numpy(tables[:, -1].astype(np.int64) * _BLOCK_TOKENS)
    inputs = StepInputs(
        torch.arange(_SEQUENCES, device=device),
        torch.full((_SEQUENCES,), _CONTEXT, device=device),
        slots.to(device),
        rows,
        torch.arange(_SEQUENCES, device=device),
    )
    return inputs, tables.size
