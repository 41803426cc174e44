"""kv-cache-tester sessions merged into one JSONL: `timestamp` in seconds, ids as runs.

`hash_runs` is a list of [first id, count]; blocks of 64 tokens, ids that name whole prefixes.
"""

from collections.abc import Iterator
from typing import Annotated

import msgspec
import numpy as np
import numpy.typing as npt

from cachecast_datasets.hashing import scoped_ids
from cachecast_datasets.readers.block_ids import check_block_count
from cachecast_datasets.readers.counts import Count
from cachecast_datasets.readers.lines import requests_by_line
from cachecast_datasets.readers.reader import Head, Reader
from cachecast_datasets.readers.times import microseconds
from cachecast_datasets.request import Request
from cachecast_datasets.request_log import LogMeta
from cachecast_datasets.source import Source

BLOCK_TOKENS = 64
_Id = Annotated[int, msgspec.Meta(ge=0)]


class _Line(msgspec.Struct, forbid_unknown_fields=True):
    timestamp: float
    input_length: Count
    hash_runs: list[tuple[_Id, _Id]]
    session: str | None = None
    output_length: Count | None = None


_DECODER = msgspec.json.Decoder(_Line)
_KEYS = {"": _Line.__struct_fields__}


def read(source: Source) -> Iterator[Request]:
    """One request a line; its id is the line number, its scope the file."""
    return requests_by_line(source, _DECODER, _request, _KEYS)


def _request(source: Source, number: int, row: _Line) -> Request:
    # before the runs are expanded: a wrong count must not fill the memory
    count = sum(run[1] for run in row.hash_runs)
    check_block_count("hash_runs", count, row.input_length, BLOCK_TOKENS)
    return Request(
        request_id=f"{source.prefix}{number}",
        arrival_us=microseconds(row.timestamp, "timestamp"),
        session_id=row.session,
        token_block_size=BLOCK_TOKENS,
        token_blocks=scoped_ids(source.scope, _expanded(row.hash_runs)),
        hash_scope=source.scope,
        prompt_tokens=row.input_length,
        output_tokens=row.output_length,
        source_line=number,
    )


def _expanded(runs: list[tuple[int, int]]) -> npt.NDArray[np.uint64]:
    for first, count in runs:
        if first + count > 1 << 64:
            raise ValueError(f"hash_runs holds {first}, expected 0 <= id < 2**64")
    parts = [np.uint64(first) + np.arange(count, dtype=np.uint64) for first, count in runs]
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.uint64)


def _recognises(head: Head) -> bool:
    return {"hash_runs", "timestamp", "input_length"} <= head.keys


READER = Reader(
    name="kv-cache-tester-merged",
    description='merged kv-cache-tester JSONL ({"timestamp": s, "input_length", "hash_runs"})',
    recognises=_recognises,
    read=read,
    meta=LogMeta("kv-cache-tester-merged", "token_blocks", carries_markers=False),
    in_order=True,
    became={
        "`timestamp` (s)": "`arrival`, from the log's zero",
        "`input_length`, `output_length`": "`prompt_tokens`, `output_tokens`",
        "`hash_runs`": "`token_blocks` of 64 tokens; the scope is the file",
        "`session`": "`session_id`",
        "the line's number": "`request_id`",
    },
    cannot_tell=(
        "models and accounts",
        "where tools and system text end, and where markers stood",
        "first tokens and ends of responses",
        "what a provider reported",
    ),
)
