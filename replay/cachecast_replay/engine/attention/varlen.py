"""Attention on a GPU through torch's FlashAttention for sequences of unequal length."""

from functools import cache
from itertools import accumulate

import torch
from torch import Tensor

from cachecast_replay.engine.attention.rows import Attend, Rows, contexts


def varlen(rows: Rows) -> Attend:
    """One kernel for all sequences; their contexts are copied together first, once a layer.

    FlashAttention 2 reads pages only of 256 tokens and more, so smaller blocks are gathered. Causal
    masks are aligned to the end there: the last new token sees the whole context.
    """
    from torch.nn.attention.varlen import varlen_attn  # torch 2.10 and newer

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
        keys, values = (each.flatten(0, 1).index_select(0, places) for each in (k, v))
        answer = varlen_attn(
            q, keys, values, new_ends, seen_ends, max(rows.news), max(seen),
            window_size=(-1, 0), enable_gqa=True,
        )  # fmt: skip
        assert isinstance(answer, Tensor)
        return answer

    return attend


def token_places(tables: Tensor, lengths: Tensor, block_tokens: int) -> Tensor:
    """Where each sequence's tokens lie, (sum of lengths,): block number * block_tokens + offset."""
    offsets = torch.arange(block_tokens, device=tables.device)
    places = (tables.long()[:, :, None] * block_tokens + offsets).flatten(1)
    at = torch.arange(places.shape[1], device=tables.device)
    return places[at[None] < lengths[:, None]]
