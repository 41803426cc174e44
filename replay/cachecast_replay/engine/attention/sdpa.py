"""Attention through torch's own fused kernel, sequence by sequence: the pure-torch fallback."""

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from cachecast_replay.engine.attention.rows import Attend, Rows, contexts


def sdpa(rows: Rows) -> Attend:
    """It copies the context of each sequence together, once a layer.

    The query heads of a K/V head lie one behind the other as rows, so that K and V are never
    repeated for them.
    """
    device = rows.tables.device
    masks = [_mask(start, new, device) for start, new in zip(rows.starts, rows.news, strict=True)]

    def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        heads, head_dim = q.shape[1:]
        kv_heads, block_tokens = k.shape[2], k.shape[1]
        group = heads // kv_heads
        mixed = torch.empty_like(q)
        first = 0
        for table, new, context, mask in zip(
            rows.tables, rows.news, contexts(rows), masks, strict=True
        ):
            blocks = table[: -(-context // block_tokens)]
            # (1, kv_heads, context, head_dim)
            keys, values = (
                each.index_select(0, blocks).flatten(0, 1)[:context].transpose(0, 1).unsqueeze(0)
                for each in (k, v)
            )
            query = q[first : first + new].view(new, kv_heads, group, head_dim)
            answer = scaled_dot_product_attention(
                query.permute(1, 2, 0, 3).reshape(1, kv_heads, group * new, head_dim),
                keys,
                values,
                attn_mask=None if mask is None else mask.repeat(group, 1),
            )
            answer = answer.view(kv_heads, group, new, head_dim).permute(2, 0, 1, 3)
            mixed[first : first + new] = answer.reshape(new, heads, head_dim)
            first += new
        return mixed

    return attend


def _mask(start: int, new: int, device: torch.device) -> Tensor | None:
    """(new, start + new): which tokens each new token sees; None if it is one that sees all."""
    if new == 1:
        return None
    at = torch.arange(start + new, device=device)
    return at[None] <= at[start:, None]
