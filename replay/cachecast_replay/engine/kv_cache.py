"""Where K and V lie: one tensor of pages, and the room it takes."""

import math
import os
from pathlib import Path

import torch
from torch import Tensor

from cachecast_replay.engine.errors import EngineError
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
        # (layers, K and V, blocks, block_tokens, kv_heads, head_dim)
        self.pages = torch.zeros(_size(shape, blocks, block_tokens), dtype=dtype, device=device)

    def layer(self, number: int) -> tuple[Tensor, Tensor]:
        """K and V of one layer, each (blocks, block_tokens, kv_heads, head_dim): views."""
        return self.pages[number, 0], self.pages[number, 1]


def check_room(
    shape: ModelShape, blocks: int, block_tokens: int, device: torch.device, dtype: torch.dtype
) -> None:
    """Raises EngineError where the memory that is free now does not hold such a cache."""
    wanted_bytes = math.prod(_size(shape, blocks, block_tokens)) * dtype.itemsize
    free_bytes = _free_bytes(device)
    if free_bytes is not None and wanted_bytes > free_bytes:
        raise EngineError(
            f"{blocks:,} blocks of {block_tokens} tokens take {wanted_bytes / 2**30:.1f} GiB, "
            f"{free_bytes / 2**30:.1f} GiB are free on {device}; ask for fewer blocks"
        )


def _size(shape: ModelShape, blocks: int, block_tokens: int) -> tuple[int, ...]:
    return shape.layers, 2, blocks, block_tokens, shape.kv_heads, shape.head_dim


def _free_bytes(device: torch.device) -> int | None:
    """Memory that can be had now; None where this machine does not say."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    status = Path("/proc/meminfo")
    if status.is_file():
        for line in status.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    if hasattr(os, "sysconf") and "SC_AVPHYS_PAGES" in os.sysconf_names:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None
