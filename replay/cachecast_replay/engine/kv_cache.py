"""Where K and V lie: one tensor of pages."""

import torch
from torch import Tensor

from cachecast_replay.engine.shape import ModelShape


class KVCache:
    """K and V of `blocks` token blocks in every layer; block numbers are the block manager's."""

    __slots__ = ("pages",)

    def __init__(
        self,
        shape: ModelShape,
        blocks: int,
        block_tokens: int,
        device: torch.device,
        dtype: torch.dtype,
    ) -> None:
        self.pages = torch.zeros(size(shape, blocks, block_tokens), dtype=dtype, device=device)

    def layer(self, number: int) -> tuple[Tensor, Tensor]:
        """K and V of one layer, each (blocks, block_tokens, kv_heads, head_dim): views."""
        return self.pages[number, 0], self.pages[number, 1]


def size(shape: ModelShape, blocks: int, block_tokens: int) -> tuple[int, ...]:
    """(layers, K and V, blocks, block_tokens, kv_heads, head_dim)."""
    return shape.layers, 2, blocks, block_tokens, shape.kv_heads, shape.head_dim
