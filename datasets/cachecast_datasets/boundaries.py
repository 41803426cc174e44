"""The boundaries of a prompt made of content blocks: one per block, chained."""

from collections.abc import Sequence

from cachecast_datasets.hashing import ROOT
from cachecast_datasets.prefix_chain import extended
from cachecast_datasets.request import Boundaries, ContentBlock, Request
from cachecast_datasets.token_boundaries import TokenBoundaryTracker

__all__ = ["TokenBoundaryTracker", "boundaries_of", "content_boundaries"]


def content_boundaries(blocks: Sequence[ContentBlock]) -> Boundaries:
    """One boundary per content block, named after its section, at positions 1..n.

    `tokens` is cumulative. Markers, kinds and message indexes stay out of the hash: they do not
    change what the model reads.
    """
    tokens: list[int] = []
    hashes: list[int] = []
    names: list[str] = []
    positions: list[int | None] = []
    total, prefix = 0, ROOT
    for number, block in enumerate(blocks, start=1):
        total += block.tokens
        prefix = extended(prefix, block.section, block.hash)
        tokens.append(total)
        hashes.append(prefix)
        names.append(block.section)
        positions.append(number)
    return Boundaries(tokens, hashes, names, positions)


def boundaries_of(request: Request, tracker: TokenBoundaryTracker) -> Boundaries | None:
    """The request's boundaries from its content blocks, else its token blocks, else its own.

    `tracker` must have seen every earlier request of the log.
    """
    if request.blocks is not None:
        return content_boundaries(request.blocks)
    if request.token_blocks is not None and request.token_block_size is not None:
        return tracker.boundaries(request)
    return request.boundaries
