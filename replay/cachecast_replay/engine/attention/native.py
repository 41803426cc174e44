"""Attention in C++ for the CPU (native.cpp): it reads K and V where they lie."""

import ctypes
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor

from cachecast_replay.engine.attention.compiler import shared_library
from cachecast_replay.engine.attention.rows import Attend, Attention, Rows

SOURCE = Path(__file__).with_name("native.cpp")
LANES = 16

Function = Callable[..., None]


def native(threads: int = 1) -> Attention:
    """Attention for float32 on the CPU, `head_dim` a multiple of 16; sequences share `threads`.

    Raises CannotBuildError where it cannot be built.
    """
    library = ctypes.CDLL(str(shared_library(SOURCE)))
    function = library.paged_attention
    function.argtypes = [ctypes.c_void_p] * 7 + [ctypes.c_int32] * 6
    function.argtypes += [ctypes.c_float, ctypes.c_int32]
    function.restype = None

    def plan(rows: Rows) -> Attend:
        return _attend(function, threads, rows)

    return plan


def _attend(function: Function, threads: int, rows: Rows) -> Attend:
    starts, news = (torch.tensor(each, dtype=torch.int32) for each in (rows.starts, rows.news))
    tables = rows.tables
    assert (tables.dtype, tables.is_contiguous()) == (torch.int32, True)

    def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        q = q.contiguous()
        for each in (q, k, v):
            assert (each.dtype, each.device.type) == (torch.float32, "cpu")
            assert each.is_contiguous()
        block_tokens, kv_heads, head_dim = k.shape[1:]
        assert head_dim % LANES == 0
        mixed = torch.empty_like(q)
        function(
            *(each.data_ptr() for each in (q, k, v, mixed, tables, starts, news)),
            *(tables.shape[0], tables.shape[1], block_tokens),
            *(kv_heads, q.shape[1] // kv_heads, head_dim),
            head_dim**-0.5,
            threads,
        )
        return mixed

    return attend
