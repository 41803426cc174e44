"""What attention has to know of a step, the same for all layers."""

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor

# (q, k, v) -> mixed: q and mixed (tokens, heads, head_dim), the new tokens of all sequences one
# after the other; k, v (blocks, block_tokens, kv_heads, head_dim), new tokens' rows included
Attend = Callable[[Tensor, Tensor, Tensor], Tensor]


@dataclass(frozen=True, slots=True)
class Rows:
    """Each sequence's new tokens, what came before them, and the blocks of both."""

    starts: list[int]  # tokens before the new ones
    news: list[int]
    tables: Tensor  # (sequences, most blocks of any), int32, padded with the null block


# made once a step, called once a layer
Attention = Callable[[Rows], Attend]


def contexts(rows: Rows) -> list[int]:
    """Tokens that each sequence's last new token sees, itself included."""
    return [start + new for start, new in zip(rows.starts, rows.news, strict=True)]
