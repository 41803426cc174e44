"""Requests in batches of a size that memory can hold, whatever they carry."""

from collections.abc import Iterator

from cachecast_datasets.request import Request

BATCH_ROWS = 2048
BATCH_BLOCKS = 1 << 20  # token blocks and token ids that wait for one Arrow batch
CONTENT_BLOCK = 16  # as many bytes as so many token blocks


def batched(rows: Iterator[tuple[Request, int]]) -> Iterator[list[tuple[Request, int]]]:
    """The requests with their files, in order, at most BATCH_ROWS or BATCH_BLOCKS at a time."""
    waiting: list[tuple[Request, int]] = []
    blocks = 0
    for request, file in rows:
        waiting.append((request, file))
        for part in (request.token_blocks, request.token_ids, request.output_token_ids):
            blocks += 0 if part is None else len(part)
        blocks += 0 if request.blocks is None else CONTENT_BLOCK * len(request.blocks)
        if len(waiting) >= BATCH_ROWS or blocks >= BATCH_BLOCKS:
            yield waiting
            waiting, blocks = [], 0
    if waiting:
        yield waiting
