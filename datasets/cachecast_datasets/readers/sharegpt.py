"""LLMServingSim workloads made from ShareGPT: token ids and arrivals in nanoseconds.

`{"input_toks", "output_toks", "arrival_time_ns", "input_tok_ids", "output_tok_ids"}`; chained
hashes of blocks of 16 tokens are computed from the ids. Format: LLMServingSim; read 2026-11.
"""

from collections.abc import Iterator
from typing import Annotated

import msgspec
import numpy as np

from cachecast_datasets.errors import LogError, at
from cachecast_datasets.hashing import token_block_hashes
from cachecast_datasets.json_faults import decode
from cachecast_datasets.readers.reader import Head, Reader
from cachecast_datasets.readers.times import microseconds
from cachecast_datasets.request import Request
from cachecast_datasets.request_log import LogMeta
from cachecast_datasets.source import Source, read_lines

BLOCK_TOKENS = 16
_Count = Annotated[int, msgspec.Meta(ge=0)]
_Token = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]


class _Line(msgspec.Struct):
    arrival_time_ns: _Count
    input_tok_ids: list[_Token]
    input_toks: _Count | None = None
    output_toks: _Count | None = None
    output_tok_ids: list[_Token] | None = None


_DECODER = msgspec.json.Decoder(_Line)


def read(source: Source) -> Iterator[Request]:
    """One request a line; its id is the line number."""
    for number, line in read_lines(source):
        try:
            yield _request(source, number, line)
        except LogError as problem:
            source.bad(problem)


def _request(source: Source, number: int, line: bytes) -> Request:
    row = decode(_DECODER, line, source.label, number)
    try:
        arrival_us = microseconds(row.arrival_time_ns, "arrival_time_ns", per_second=10**9)
        _agree("input_toks", row.input_toks, "input_tok_ids", row.input_tok_ids)
        _agree("output_toks", row.output_toks, "output_tok_ids", row.output_tok_ids)
    except ValueError as problem:
        raise at(source.label, number, str(problem)) from problem
    prompt = np.array(row.input_tok_ids, dtype=np.int32)
    outputs = row.output_tok_ids
    return Request(
        request_id=f"{source.prefix}{number}",
        arrival_us=arrival_us,
        token_block_size=BLOCK_TOKENS,
        token_blocks=token_block_hashes(prompt, BLOCK_TOKENS),
        token_ids=prompt,
        output_token_ids=None if outputs is None else np.array(outputs, dtype=np.int32),
        prompt_tokens=len(prompt),
        output_tokens=row.output_toks if outputs is None else len(outputs),
        source_line=number,
    )


def _agree(name: str, count: int | None, ids_name: str, ids: list[int] | None) -> None:
    if count is not None and ids is not None and count != len(ids):
        raise ValueError(f"{name} is {count}, expected {len(ids)} as {ids_name} has")


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
