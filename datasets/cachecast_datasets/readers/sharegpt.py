"""LLMServingSim workloads made from ShareGPT: token ids and arrivals in nanoseconds.

`{"input_toks", "output_toks", "arrival_time_ns", "input_tok_ids", "output_tok_ids"}`; chained
hashes of blocks of 16 tokens are computed from the ids. Format: LLMServingSim; read 2026-11.
"""

from collections.abc import Iterator
from typing import Annotated

import msgspec

from cachecast_datasets.readers.lines import requests_by_line
from cachecast_datasets.readers.reader import Head, Reader
from cachecast_datasets.readers.times import microseconds
from cachecast_datasets.readers.token_prompts import Token, check_length, token_request
from cachecast_datasets.request import Request
from cachecast_datasets.request_log import LogMeta
from cachecast_datasets.source import Source

_Count = Annotated[int, msgspec.Meta(ge=0)]


class _Line(msgspec.Struct):
    arrival_time_ns: _Count
    input_tok_ids: list[Token]
    input_toks: _Count | None = None
    output_toks: _Count | None = None
    output_tok_ids: list[Token] | None = None


_DECODER = msgspec.json.Decoder(_Line)


def read(source: Source) -> Iterator[Request]:
    """One request a line; its id is the line number."""
    return requests_by_line(source, _DECODER, _request)


def _request(source: Source, number: int, row: _Line) -> Request:
    check_length("input_toks", row.input_toks, "input_tok_ids", row.input_tok_ids)
    check_length("output_toks", row.output_toks, "output_tok_ids", row.output_tok_ids)
    return token_request(
        f"{source.prefix}{number}",
        microseconds(row.arrival_time_ns, "arrival_time_ns", per_second=10**9),
        row.input_tok_ids,
        row.output_tok_ids,
        row.output_toks,
        number,
    )


def _recognises(head: Head) -> bool:
    return {"input_tok_ids", "arrival_time_ns"} <= head.keys


READER = Reader(
    name="sharegpt",
    description='LLMServingSim JSONL ({"arrival_time_ns", "input_tok_ids", "output_tok_ids"})',
    recognises=_recognises,
    read=read,
    meta=LogMeta("sharegpt", "tokens", carries_markers=False),
    became={
        "arrival_time_ns": "arrival, counted from the log's zero",
        "input_tok_ids": "token_ids, token_blocks (chained hashes of 16), prompt_tokens",
        "output_tok_ids": "output_token_ids, output_tokens",
        "input_toks, output_toks": "checked against the ids",
    },
    cannot_tell=(
        "the model, the conversation and the account",
        "what any cache did, and when responses came",
        "where tools, system prompt and messages end",
    ),
)
