"""Two fixed pieces of work that tell how fast the machine is at the moment."""

from collections.abc import Sequence

import numpy as np
import torch

from cachecast_replay.engine.attention import fastest_attention
from cachecast_replay.engine.attention.rows import Rows
from cachecast_replay.engine.kv_cache import KVCache
from cachecast_replay.engine.model import Model, StepInputs
from cachecast_replay.engine.rope import Rope
from cachecast_replay.engine.shape import ModelShape
from cachecast_replay.engine.weights import random_weights

_SEQUENCES, _CHUNK, _CONTEXT, _BLOCK_TOKENS = 4, 96, 256, 16
_SHAPE = ModelShape(
    vocab_size=4096, hidden_size=384, intermediate_size=1024, layers=6, heads=6, kv_heads=2,
    head_dim=64, norm_eps=1e-5, rope=Rope(10_000.0), tied_embeddings=True,
)  # fmt: skip


class ModelProbe:
    """Steps of a small model of its own.

    `forward` is a decode step of four sequences: 44 MB of weights out of memory, scattered K and V,
    and the same Python as a real step has. `chunk` is a piece of a prompt, 96 tokens behind 256
    cached ones: most of it arithmetic, with matrices as large as a prefill's. Neighbours on the
    machine slow the two by different factors (docs/validation.md).
    """

    def __init__(self, device: str | torch.device, threads: int = 1) -> None:
        place = torch.device(device)
        weights = random_weights(_SHAPE, 1, place)
        dtype = weights.dtype
        _, attention = fastest_attention(place, dtype, _SHAPE.head_dim, threads)
        self._model = Model(_SHAPE, weights, attention)
        self._decode = _inputs([1] * _SEQUENCES, 0, place)
        others = self._decode.rows.tables.numel()
        self._prefill = _inputs([_CHUNK], others, place)
        blocks = others + self._prefill.rows.tables.numel()
        self._cache = KVCache(_SHAPE, blocks, _BLOCK_TOKENS, place, dtype)

    def forward(self) -> None:
        """One decode step, its tokens chosen, as the engine does it."""
        self._step(self._decode)

    def chunk(self) -> None:
        """One prefill step, its token chosen."""
        self._step(self._prefill)

    def _step(self, inputs: StepInputs) -> None:
        hidden = self._model.hidden(inputs, self._cache)
        self._model.logits(hidden).argmax(dim=-1).tolist()


def _inputs(new_tokens: Sequence[int], first: int, device: torch.device) -> StepInputs:
    """So many new tokens for each sequence behind its context, in blocks of its own, which are
    numbered from `first`."""
    each = -(-(_CONTEXT + max(new_tokens)) // _BLOCK_TOKENS)
    tables = first + np.arange(len(new_tokens) * each, dtype=np.int32).reshape(-1, each)
    owners = np.repeat(np.arange(len(new_tokens)), new_tokens)
    positions = _CONTEXT + np.concatenate([np.arange(count) for count in new_tokens])
    blocks = tables[owners, positions // _BLOCK_TOKENS].astype(np.int64)
    return StepInputs(
        torch.arange(len(owners), device=device),
        torch.from_numpy(positions).to(device),
        torch.from_numpy(blocks * _BLOCK_TOKENS + positions % _BLOCK_TOKENS).to(device),
        Rows([_CONTEXT] * len(tables), list(new_tokens), torch.from_numpy(tables).to(device)),
        torch.from_numpy(np.cumsum(new_tokens) - 1).to(device),
    )
