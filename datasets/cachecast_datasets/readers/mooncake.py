"""Mooncake JSONL: `timestamp` in milliseconds, blocks of 512 tokens, the last one may be partial.

Ids name whole prefixes: equal id, equal prompt up to there.
Format: kvcache-ai/Mooncake, FAST25-release; read 2026-11.
"""

from collections.abc import Iterator
from typing import Annotated

import msgspec

from cachecast_datasets.hashing import scoped_ids
from cachecast_datasets.readers.block_ids import check_block_count, id_array
from cachecast_datasets.readers.counts import Count
from cachecast_datasets.readers.lines import requests_by_line
from cachecast_datasets.readers.reader import Head, Reader
from cachecast_datasets.readers.times import microseconds
from cachecast_datasets.request import Request
from cachecast_datasets.request_log import LogMeta
from cachecast_datasets.source import Source

BLOCK_TOKENS = 512
_Id = Annotated[int, msgspec.Meta(ge=0)]
_Ignored = msgspec.Raw | msgspec.UnsetType


class _Line(msgspec.Struct, forbid_unknown_fields=True):
    timestamp: float
    input_length: Count
    hash_ids: list[_Id]
    output_length: Count | None = None
    # what other tools write into this format (Dynamo, AISimulate): known, and not used
    created_time: _Ignored = msgspec.UNSET
    delay: _Ignored = msgspec.UNSET
    delay_ms: _Ignored = msgspec.UNSET
    session_id: _Ignored = msgspec.UNSET
    request_id: _Ignored = msgspec.UNSET
    wait_for: _Ignored = msgspec.UNSET
    tool_wait_ms: _Ignored = msgspec.UNSET
    branches: _Ignored = msgspec.UNSET
    prefix_reset: _Ignored = msgspec.UNSET
    priority: _Ignored = msgspec.UNSET


_DECODER = msgspec.json.Decoder(_Line)
_KEYS = {"": _Line.__struct_fields__}


def read(source: Source) -> Iterator[Request]:
    """One request a line; its id is the line number, its scope the file."""
    return requests_by_line(source, _DECODER, _request, _KEYS)


def _request(source: Source, number: int, row: _Line) -> Request:
    check_block_count("hash_ids", len(row.hash_ids), row.input_length, BLOCK_TOKENS)
    return Request(
        request_id=f"{source.prefix}{number}",
        arrival_us=microseconds(row.timestamp, "timestamp", per_second=1000),
        token_block_size=BLOCK_TOKENS,
        token_blocks=scoped_ids(source.scope, id_array(row.hash_ids, "hash_ids")),
        hash_scope=source.scope,
        prompt_tokens=row.input_length,
        output_tokens=row.output_length,
        source_line=number,
    )


def _recognises(head: Head) -> bool:
    # a file in seconds has hash_runs, Qwen-Bailian's has chat_id: neither may pass for this one
    return {"hash_ids", "input_length", "timestamp"} <= head.keys and not (
        head.keys & {"hash_runs", "chat_id"}
    )


READER = Reader(
    name="mooncake",
    description='Mooncake JSONL ({"timestamp": ms, "input_length", "hash_ids"})',
    recognises=_recognises,
    read=read,
    meta=LogMeta("mooncake", "token_blocks", carries_markers=False, keeps_partial_block=True),
    in_order=True,
    became={
        "`timestamp` (ms)": "`arrival`, from the log's zero",
        "`input_length`, `output_length`": "`prompt_tokens`, `output_tokens`",
        "`hash_ids`": "`token_blocks` of 512 tokens, the last one partial; the scope is the file",
        "the line's number": "`request_id`",
    },
    cannot_tell=(
        "sessions, accounts and models",
        "where tools and system text end, and where markers stood",
        "first tokens and ends of responses",
        "what a provider reported",
    ),
)
