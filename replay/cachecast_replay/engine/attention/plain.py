"""Attention as the formula says it: the slow one that all others are compared with."""

import torch
from torch import Tensor

from cachecast_replay.engine.attention.rows import Attend, Rows, contexts


def plain(rows: Rows) -> Attend:
    """Softmax in float32 over each token's own context, one sequence after the other."""

    def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        heads, head_dim = q.shape[1:]
        kv_heads = k.shape[2]
        mixed = []
        first = 0
        for table, start, new, context in zip(
            rows.tables, rows.starts, rows.news, contexts(rows), strict=True
        ):
            # (kv_heads, 1, context, head_dim), what lies behind the context left out
            keys, values = (
                each[table.long()].flatten(0, 1)[:context].float().transpose(0, 1).unsqueeze(1)
                for each in (k, v)
            )
            # (kv_heads, group, new, head_dim)
            query = q[first : first + new].float().view(new, kv_heads, heads // kv_heads, head_dim)
            scores = query.permute(1, 2, 0, 3) @ keys.transpose(2, 3) * head_dim**-0.5
            at = torch.arange(context, device=q.device)
            scores = scores.masked_fill(at[None] > at[start:, None], -torch.inf)
            mixed.append((scores.softmax(-1) @ values).permute(2, 0, 1, 3).flatten(1, 2))
            first += new
        return torch.cat(mixed).to(q.dtype)  # (tokens, heads, head_dim)

    return attend
