"""Attention over the paged cache: several ways, chosen by device and by what is there.

All of them are tested against `plain`; docs/performance.md has the measurements behind the order.
"""

from importlib.util import find_spec

import torch

from cachecast_replay.engine.attention.compiler import CannotBuildError
from cachecast_replay.engine.attention.native import LANES, native
from cachecast_replay.engine.attention.plain import plain
from cachecast_replay.engine.attention.rows import Attention
from cachecast_replay.engine.attention.sdpa import sdpa
from cachecast_replay.engine.attention.varlen import varlen
from cachecast_replay.engine.errors import EngineError

FLASH = (8, 0)  # compute capability (Ampere), below which torch has no FlashAttention
# fastest first
BY_DEVICE = {"cpu": ("native", "sdpa", "plain"), "cuda": ("varlen", "sdpa", "plain")}


def attention_of(
    name: str, device: torch.device, dtype: torch.dtype, head_dim: int, threads: int
) -> Attention:
    """The one of that name. Raises EngineError with the reason why it cannot be had here."""
    known = BY_DEVICE[device.type]
    if name not in known:
        raise EngineError(f"attention {name!r} on {device}; known there: {', '.join(known)}")
    if name == "native":
        if dtype != torch.float32:
            raise EngineError(f"attention native computes in float32, the weights are {dtype}")
        if head_dim % LANES:
            raise EngineError(
                f"attention native needs a head_dim that is a multiple of {LANES}, not {head_dim}"
            )
        try:
            return native(threads)
        except CannotBuildError as problem:
            raise EngineError(f"attention native: {problem}") from None
    if name == "varlen":
        if dtype not in (torch.bfloat16, torch.float16):
            raise EngineError(f"attention varlen computes in 16 bits, the weights are {dtype}")
        if find_spec("torch.nn.attention.varlen") is None:
            raise EngineError("attention varlen needs torch 2.10 or newer")
        if device.type == "cuda" and torch.cuda.get_device_capability(device) < FLASH:
            raise EngineError("attention varlen needs a GPU of compute capability 8.0 or higher")
    return {"sdpa": sdpa, "plain": plain, "varlen": varlen}[name]


def fastest_attention(
    device: torch.device, dtype: torch.dtype, head_dim: int, threads: int
) -> tuple[str, Attention]:
    """The first of BY_DEVICE that works here, and its name (which a measurement has to state)."""
    for name in BY_DEVICE[device.type]:
        try:
            return name, attention_of(name, device, dtype, head_dim, threads)
        except EngineError:
            continue
    raise AssertionError("plain attention works everywhere")
