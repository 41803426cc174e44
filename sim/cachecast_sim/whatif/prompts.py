"""A request with another prompt."""

from collections.abc import Sequence
from dataclasses import replace

from cachecast_datasets.boundaries import content_boundaries
from cachecast_datasets.hashing import content_hash
from cachecast_datasets.request import ContentBlock, Request

HEAD = ("tools", "system", "developer")


def with_blocks(request: Request, blocks: Sequence[ContentBlock]) -> Request:
    """The request with these content blocks; its prompt grows or shrinks with them."""
    assert request.blocks is not None
    before = sum(block.tokens for block in request.blocks)
    after = sum(block.tokens for block in blocks)
    total = request.prompt_tokens
    return replace(
        request,
        blocks=blocks,
        boundaries=content_boundaries(blocks),
        prompt_tokens=None if total is None else total + after - before,
    )


def head_length(blocks: Sequence[ContentBlock]) -> int:
    """How many blocks the tools and the system text take."""
    for at, block in enumerate(blocks):
        if block.section not in HEAD:
            return at
    return len(blocks)


def made_hash(*parts: object) -> int:
    """The hash of a content that a change makes up."""
    return content_hash("\n".join(str(part) for part in parts).encode())


def aside(request: Request, name: str, arrival_us: int, output_tokens: int) -> Request:
    """A request of the same prompt that a change sends besides; its answer's times are unknown."""
    return replace(
        request,
        request_id=f"{request.request_id}~{name}",
        arrival_us=arrival_us,
        first_token_s=None,
        end_s=None,
        think_time_s=None,
        output_tokens=output_tokens,
        answer_hash=None,
        observed=None,
        status=None,
    )
