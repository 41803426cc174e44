"""Requests whose prompt is known token by token, as ids of a tokenizer."""

from collections.abc import Sequence
from typing import Annotated

import msgspec
import numpy as np

from cachecast_datasets.hashing import scoped_ids, token_block_hashes
from cachecast_datasets.request import Request

BLOCK_TOKENS = 16
Token = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]


def token_request(
    request_id: str,
    arrival_us: int,
    prompt: Sequence[int],
    output: Sequence[int] | None,
    output_tokens: int | None,
    line: int,
    salt: str | None = None,
) -> Request:
    """The request, with chained hashes of its whole blocks of 16 tokens; requests with different
    salts share none of them."""
    ids = np.array(prompt, dtype=np.int32)
    blocks = token_block_hashes(ids, BLOCK_TOKENS)
    return Request(
        request_id=request_id,
        arrival_us=arrival_us,
        token_block_size=BLOCK_TOKENS,
        token_blocks=blocks if salt is None else scoped_ids(salt, blocks),
        hash_scope=salt,
        token_ids=ids,
        output_token_ids=None if output is None else np.array(output, dtype=np.int32),
        prompt_tokens=len(ids),
        output_tokens=output_tokens if output is None else len(output),
        source_line=line,
    )


def check_length(name: str, count: int | None, ids_name: str, ids: Sequence[int] | None) -> None:
    """ValueError where a count and the ids that it counts are both there and differ."""
    if count is not None and ids is not None and count != len(ids):
        raise ValueError(f"{name} is {count}, expected {len(ids)} as {ids_name} has")
