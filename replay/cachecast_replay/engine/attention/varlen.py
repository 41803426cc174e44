"""Attention on a GPU through torch's FlashAttention for sequences of unequal length."""

from collections.abc import Callable
from functools import cache
from inspect import signature
from itertools import accumulate
from typing import Any

import torch
from torch import Tensor

from cachecast_replay.engine.attention.rows import Attend, Rows, contexts


def varlen(rows: Rows) -> Attend:
    """One kernel for all sequences; their contexts are copied together first, once a layer.

    FlashAttention 2 reads pages only of 256 tokens and more, so smaller blocks are gathered. Causal
    masks are aligned to the end there: the last new token sees the whole context.
    """
    kernel = _kernel()
    device = rows.tables.device
    seen = contexts(rows)
    new_ends, seen_ends = (
        torch.tensor([0, *accumulate(each)], dtype=torch.int32, device=device)
        for each in (rows.news, seen)
    )
    lengths = torch.tensor(seen, device=device)

    @cache
    def places_of(block_tokens: int) -> Tensor:
        return token_places(rows.tables, lengths, block_tokens)

    def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        places = places_of(k.shape[1])
        # (all contexts, kv_heads, head_dim)
        keys, values = (each.flatten(0, 1).index_select(0, places) for each in (k, v))
        return kernel(q, keys, values, new_ends, seen_ends, max(rows.news), max(seen))

    return attend


def token_places(tables: Tensor, lengths: Tensor, block_tokens: int) -> Tensor:
    """Where each sequence's tokens lie, (sum of lengths,): block number * block_tokens + offset."""
    offsets = torch.arange(block_tokens, device=tables.device)
    places = (tables.long()[:, :, None] * block_tokens + offsets).flatten(1)
    at = torch.arange(places.shape[1], device=tables.device)
    return places[at[None] < lengths[:, None]]


def _kernel() -> Callable[..., Tensor]:
    """torch's function, whose options grew: 2.10 knows `is_causal` and no grouped heads."""
    from torch.nn.attention import varlen as module

    function: Callable[..., Any] = module.varlen_attn
    known = signature(function).parameters
    options: dict[str, object] = (
        {"window_size": (-1, 0)} if "window_size" in known else {"is_causal": True}
    )
    grouped = "enable_gqa" in known
    if grouped:
        options["enable_gqa"] = True

    def kernel(q: Tensor, k: Tensor, v: Tensor, *lengths: object) -> Tensor:
        if not grouped:
            group = q.shape[1] // k.shape[1]
            k, v = (each.repeat_interleave(group, dim=1) for each in (k, v))
        found: Tensor = function(q, k, v, *lengths, **options)
        return found

    return kernel
