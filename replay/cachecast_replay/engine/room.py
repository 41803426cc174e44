"""Does a model, and a KV cache for it, fit into the memory that is free now?"""

import math
import os
from pathlib import Path

import torch

from cachecast_replay.engine.errors import EngineError
from cachecast_replay.engine.kv_cache import size
from cachecast_replay.engine.shape import ModelShape
from cachecast_replay.engine.weights import dtype_of

_GIB = 2**30


def check_weights(shape: ModelShape, device: torch.device) -> None:
    """Raises EngineError, before any is made or read, where the weights do not fit."""
    wanted_bytes = shape.parameters * dtype_of(device).itemsize
    free_bytes = _free_bytes(device)
    if free_bytes is not None and wanted_bytes > free_bytes:
        raise EngineError(
            f"the model's {shape.parameters / 1e9:.2f} billion weights take "
            f"{wanted_bytes / _GIB:.1f} GiB, {free_bytes / _GIB:.1f} GiB are free on {device}; "
            "take a smaller model"
        )


def check_room(
    shape: ModelShape, blocks: int, block_tokens: int, device: torch.device, dtype: torch.dtype
) -> None:
    """Raises EngineError where the memory that is free now does not hold such a cache."""
    wanted_bytes = math.prod(size(shape, blocks, block_tokens)) * dtype.itemsize
    free_bytes = _free_bytes(device)
    if free_bytes is not None and wanted_bytes > free_bytes:
        raise EngineError(
            f"{blocks:,} blocks of {block_tokens} tokens take {wanted_bytes / _GIB:.1f} GiB, "
            f"{free_bytes / _GIB:.1f} GiB are free on {device}; ask for fewer blocks"
        )


def _free_bytes(device: torch.device) -> int | None:
    """Memory that can be had now; None where this machine does not say."""
    if device.type == "cuda":
        # what torch holds and nobody uses, an engine before this one's say, can be had too
        unused = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return torch.cuda.mem_get_info(device)[0] + unused
    status = Path("/proc/meminfo")
    if status.is_file():
        for line in status.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    if hasattr(os, "sysconf") and "SC_AVPHYS_PAGES" in os.sysconf_names:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None
