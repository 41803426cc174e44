"""Write an anonymised log in the Mooncake shape: times, lengths and ids of blocks of 512 tokens.

An id names a whole prefix: equal id, equal account and model, and equal prompt up to there. The
ids are 64-bit hashes of salted hashes.
"""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pyarrow as pa

from cachecast_datasets.decode import requests_of
from cachecast_datasets.errors import BadInput, EvidenceError
from cachecast_datasets.hashing import chain, content_hash
from cachecast_datasets.readers.mooncake import BLOCK_TOKENS
from cachecast_datasets.request import Boundaries, Request

NOT_PROCESSED = ("rejected", "error")


class MooncakeWriter:
    """Collects batches of the request log's schema; `rows` lines are written."""

    def __init__(self, stream: BinaryIO, keeps_partial_block: bool) -> None:
        self.rows = 0
        self.left_out = 0
        self.without_output = 0
        self._stream = stream
        self._keeps_partial_block = keeps_partial_block

    def write(self, batch: pa.RecordBatch) -> None:
        """Append `batch`, whose times count from the log's first arrival."""
        for request in requests_of(batch):
            if request.status in NOT_PROCESSED:
                self.left_out += 1
                continue
            self._stream.write(self._line(request))
            self.rows += 1

    def notes(self) -> list[str]:
        """What a reader of the file should know."""
        found = [
            "the Mooncake shape has no sessions, models, markers or observed usage; "
            "ids of two accounts or two models never meet"
        ]
        if self.left_out:
            found.append(f"{self.left_out:,} requests that were not processed are left out")
        if self.without_output:
            found.append(
                f"{self.without_output:,} requests do not tell their output: no output_length"
            )
        return found

    def _line(self, request: Request) -> bytes:
        ids = self._ids(request)
        prompt = _prompt_tokens(request)
        row: dict[str, object] = {
            "timestamp": request.arrival_us // 1000,
            "input_length": prompt,
            "output_length": request.output_tokens,
            "hash_ids": ids,
        }
        if request.output_tokens is None:
            self.without_output += 1
            del row["output_length"]
        return json.dumps(row).encode() + b"\n"

    def _ids(self, request: Request) -> list[int]:
        scope = content_hash(repr((request.account, request.model)).encode())
        if request.blocks is not None and request.boundaries is not None:
            return _ids_of_content(request.boundaries, scope)
        if request.token_blocks is None or request.token_block_size is None:
            raise EvidenceError(
                "the Mooncake shape needs content blocks or token blocks, but request "
                f"{self.rows + self.left_out + 1} by arrival has neither; write a Parquet instead"
            )
        size = request.token_block_size
        if BLOCK_TOKENS % size:
            raise EvidenceError(
                f"the Mooncake shape has blocks of {BLOCK_TOKENS} tokens, and this log's of {size} "
                "do not fill them evenly; write a Parquet instead"
            )
        step = BLOCK_TOKENS // size
        whole = request.token_blocks[step - 1 :: step] if step > 1 else request.token_blocks
        most = _prompt_tokens(request) // BLOCK_TOKENS
        if step == 1 and self._keeps_partial_block:
            most = len(whole)
        # in a file that keeps partial blocks, a partial block of its own size may stand last
        ids: list[int] = (whole[:most] ^ np.uint64(scope)).tolist()
        return ids


def _prompt_tokens(request: Request) -> int:
    if request.blocks is not None:
        return sum(block.tokens for block in request.blocks)
    if request.prompt_tokens is None:
        raise EvidenceError(
            "the Mooncake shape needs the length of every prompt, which this log does not tell; "
            "write a Parquet instead"
        )
    return request.prompt_tokens


def _ids_of_content(boundaries: Boundaries, scope: int) -> list[int]:
    """One id for each block of 512 tokens, the last one partial.

    An id stands for the content block that its last token lies in and for how much of it; so two
    prompts share no more than what is before the first content block that differs.
    """
    ids: list[int] = []
    total = boundaries.tokens[-1] if boundaries.tokens else 0
    ends = list(range(BLOCK_TOKENS, total, BLOCK_TOKENS)) + ([total] if total else [])
    index = start = 0
    for end in ends:
        while boundaries.tokens[index] < end:
            start = boundaries.tokens[index]
            index += 1
        ids.append(chain(chain(scope, boundaries.hashes[index]), end - start))
    return ids


@contextmanager
def mooncake_writer(path: Path, keeps_partial_block: bool) -> Iterator[MooncakeWriter]:
    """A writer whose file appears at `path` only when the block ends well."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        with partial.open("wb") as stream:
            yield MooncakeWriter(stream, keeps_partial_block)
        os.replace(partial, path)
    except OSError as problem:
        raise BadInput(f"{path}: cannot be written: {problem.strerror or problem}") from problem
    finally:
        with suppress(OSError):  # a read-only folder refuses even what is not there
            partial.unlink()
