"""A log's prompts as token blocks with chained ids: what a block cache sees of it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cachecast_datasets.cut_blocks import cut_blocks
from cachecast_datasets.errors import BadInput, EvidenceError
from cachecast_datasets.hashing import scoped_ids, token_block_hashes
from cachecast_datasets.request import Request
from cachecast_datasets.trace import BATCH_ROWS, Trace

Counts = npt.NDArray[np.int64]
Ids = npt.NDArray[np.uint64]

ENGINE_BLOCK_TOKENS = 16  # vLLM's default (0.32.0, config/cache.py)
_CONTENT = ("text", "blocks")


def shares_unknown(trace: Trace, name: str) -> EvidenceError:
    """What to say of a log of counts, which knows no prompt; `name` is the log's in messages."""
    return EvidenceError(
        f"{name}: the log does not say what its prompts share (its evidence is "
        f"{trace.meta.evidence}), expected a log with text, token ids or token blocks; "
        "docs/log-formats.md lists them"
    )


@dataclass(frozen=True, slots=True)
class PrefixBlocks:
    """Some requests in order of arrival, as arrays.

    `ids[offsets[r]:offsets[r + 1]]` are the chained ids of request r's token blocks, from the
    prompt's start (equal id = equal prompt up to there). `prompt_tokens` is -1 where it is unknown:
    an array has no null.
    """

    arrival_us: Counts  # (requests,)
    offsets: Counts  # (requests + 1,), from 0
    ids: Ids  # (blocks,)
    prompt_tokens: Counts  # (requests,)


class BlockLog:
    """A trace read as token blocks; iterate it for PrefixBlocks, as often as needed.

    `block_tokens` is the size of the blocks that it gives: the log's own; for a log of content
    blocks or token ids the size asked for, else ENGINE_BLOCK_TOKENS. `keeps_partial`: a partial
    last block is among them. `scopes` counts the namespaces of its ids. After a pass `left_out` is
    how many requests with a prompt had no blocks, and `estimated` how many do not say how long
    their prompt is: then it is what its content blocks are estimated at.
    """

    def __init__(self, trace: Trace, name: str, wanted_tokens: int | None = None) -> None:
        """Look at the log's sizes. EvidenceError without blocks, BadInput for mixed sizes.

        `name` is the log's as messages give it.
        """
        self.trace = trace
        self.left_out = 0
        self.estimated = 0
        size, self.scopes = _size_and_scopes(trace, name)
        self.of_content = size is None and trace.meta.evidence in _CONTENT
        if size is None and not self.of_content and trace.rows:
            raise shares_unknown(trace, name)
        # where the tokens are known, the log's own blocks are only one way to cut them
        self.of_tokens = trace.meta.evidence == "tokens" and wanted_tokens not in (None, size)
        own = None if self.of_tokens else size
        self.block_tokens = own or wanted_tokens or ENGINE_BLOCK_TOKENS
        self.keeps_partial = self.of_content or trace.meta.keeps_partial_block

    def __iter__(self) -> Iterator[PrefixBlocks]:
        self.left_out = self.estimated = 0
        if self.of_content:
            yield from self._made(("boundaries", "prompt_tokens", "blocks"), self._of_boundaries)
            return
        if self.of_tokens:
            yield from self._made(("token_ids", "prompt_tokens", "hash_scope"), self._of_ids)
            return
        for batch in self.trace.batches(("token_blocks", "token_block_size", "prompt_tokens")):
            if "token_blocks" in batch.schema.names:
                yield self._of_batch(batch)

    def _of_batch(self, batch: pa.RecordBatch) -> PrefixBlocks:
        lists = batch.column("token_blocks")
        arrival_us = batch.column("arrival").view(pa.int64()).to_numpy()
        prompts = _prompts(batch)
        if lists.null_count:
            there = lists.is_valid().to_numpy(zero_copy_only=False)
            self.left_out += int((prompts[~there] != 0).sum())
            arrival_us, prompts, lists = arrival_us[there], prompts[there], lists.drop_null()
        offsets = lists.offsets.to_numpy().astype(np.int64)
        ids = lists.values.to_numpy()[offsets[0] : offsets[-1]]
        return PrefixBlocks(arrival_us, offsets - offsets[0], ids, prompts)

    def _made(
        self, columns: tuple[str, ...], ids_of: Callable[[Request], Ids | None]
    ) -> Iterator[PrefixBlocks]:
        """Requests whose ids are made here, one after the other."""
        waiting: list[tuple[Request, Ids]] = []
        for request in self.trace.requests(columns=columns):
            ids = ids_of(request)
            if ids is not None:
                waiting.append((request, ids))
            elif request.prompt_tokens != 0:
                self.left_out += 1
            if len(waiting) == BATCH_ROWS:
                yield _together(waiting)
                waiting = []
        if waiting:
            yield _together(waiting)

    def _of_boundaries(self, request: Request) -> Ids | None:
        if request.boundaries is None:
            return None
        ends, hashes = request.boundaries.tokens, request.boundaries.hashes
        if request.prompt_tokens is None and len(ends):
            request.prompt_tokens = ends[-1]
            self.estimated += 1
        return cut_blocks(ends, hashes, request.prompt_tokens, self.block_tokens)

    def _of_ids(self, request: Request) -> Ids | None:
        if request.token_ids is None:
            return None
        ids = token_block_hashes(request.token_ids, self.block_tokens)
        return ids if request.hash_scope is None else scoped_ids(request.hash_scope, ids)


def _together(made: list[tuple[Request, Ids]]) -> PrefixBlocks:
    requests, ids = zip(*made, strict=True)
    prompts = [-1 if r.prompt_tokens is None else r.prompt_tokens for r in requests]
    return PrefixBlocks(
        np.array([request.arrival_us for request in requests], dtype=np.int64),
        np.cumsum([0, *map(len, ids)], dtype=np.int64),
        np.concatenate(ids),
        np.array(prompts, dtype=np.int64),
    )


def _prompts(batch: pa.RecordBatch) -> Counts:
    if "prompt_tokens" not in batch.schema.names:
        return np.full(batch.num_rows, -1, dtype=np.int64)
    made: Counts = batch.column("prompt_tokens").fill_null(-1).to_numpy()
    return made


def _size_and_scopes(trace: Trace, name: str) -> tuple[int | None, int]:
    """(the one block size of the log, how many namespaces its ids have)."""
    size, first_row, row = None, 0, 0
    scopes: set[str | None] = set()
    for batch in trace.batches(("token_block_size", "hash_scope")):
        there = set(batch.schema.names)
        if "token_block_size" in there:
            sizes = batch.column("token_block_size")
            for index, found in enumerate(
                sizes.to_pylist() if sizes.null_count < len(sizes) else ()
            ):
                if found is None or found == size:
                    continue
                if size is not None:
                    raise BadInput(
                        f"{name} request {row + index + 1}: its blocks hold {found} tokens, those "
                        f"of request {first_row} {size}; expected one size in a log, since blocks "
                        "of two sizes never match"
                    )
                size, first_row = found, row + index + 1
        if "hash_scope" in there:
            scopes.update(batch.column("hash_scope").unique().to_pylist())
        row += batch.num_rows
    return size, len(scopes)
