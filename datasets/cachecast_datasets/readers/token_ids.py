"""Token-id JSONL: the prompt itself as token ids, arrival in seconds.

`{"id", "arrival", "prompt_token_ids", "output_len", "output_token_ids"}`; the ids are kept, and
chained hashes of blocks of 16 tokens are computed from them.
"""

from collections.abc import Iterator
from typing import Annotated

import msgspec
import numpy as np
import numpy.typing as npt

from cachecast_datasets.errors import LogError, at
from cachecast_datasets.hashing import token_block_hashes
from cachecast_datasets.json_faults import decode
from cachecast_datasets.readers.counts import Count
from cachecast_datasets.readers.reader import Head, Reader
from cachecast_datasets.readers.times import microseconds
from cachecast_datasets.request import Request
from cachecast_datasets.request_log import LogMeta
from cachecast_datasets.source import Source, read_lines

BLOCK_TOKENS = 16
_Token = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]


class _Line(msgspec.Struct, forbid_unknown_fields=True):
    arrival: float
    prompt_token_ids: list[_Token]
    id: str | int | None = None
    output_len: Count | None = None
    output_token_ids: list[_Token] | None = None


_DECODER = msgspec.json.Decoder(_Line)
_KEYS = {"": _Line.__struct_fields__}


def read(source: Source) -> Iterator[Request]:
    """One request a line; its id is the line's own, else the line number."""
    for number, line in read_lines(source):
        try:
            yield _request(source, number, line)
        except LogError as problem:
            source.bad(problem)


def _request(source: Source, number: int, line: bytes) -> Request:
    row = decode(_DECODER, line, source.label, number, keys=_KEYS)
    outputs = row.output_token_ids
    try:
        arrival_us = microseconds(row.arrival, "arrival")
        if None not in (outputs, row.output_len) and row.output_len != len(outputs or ()):
            raise ValueError(
                f"output_len is {row.output_len}, expected {len(outputs or ())} as "
                "output_token_ids has"
            )
    except ValueError as problem:
        raise at(source.label, number, str(problem)) from problem
    prompt = _tokens(row.prompt_token_ids)
    return Request(
        request_id=row.id if isinstance(row.id, str) else f"{source.prefix}{_id(row.id, number)}",
        arrival_us=arrival_us,
        token_block_size=BLOCK_TOKENS,
        token_blocks=token_block_hashes(prompt, BLOCK_TOKENS),
        token_ids=prompt,
        output_token_ids=None if outputs is None else _tokens(outputs),
        prompt_tokens=len(prompt),
        output_tokens=row.output_len if outputs is None else len(outputs),
        source_line=number,
    )


def _id(given: int | None, number: int) -> int:
    return number if given is None else given


def _tokens(ids: list[int]) -> npt.NDArray[np.int32]:
    return np.array(ids, dtype=np.int32)


def _recognises(head: Head) -> bool:
    return "prompt_token_ids" in head.keys


READER = Reader(
    name="token-ids",
    description='token-id JSONL ({"arrival": s, "prompt_token_ids", "output_len"})',
    recognises=_recognises,
    read=read,
    meta=LogMeta("token-ids", "tokens", carries_markers=False),
    became={
        "`arrival` (s)": "`arrival`, from the log's zero",
        "`prompt_token_ids`": "`token_ids`, `prompt_tokens`, and `token_blocks` of 16 tokens",
        "`output_token_ids`, `output_len`": "`output_token_ids`, `output_tokens`",
        "`id`, else the line's number": "`request_id`",
    },
    cannot_tell=(
        "sessions, accounts and models",
        "where content blocks begin, and where markers stood",
        "what a provider reported",
    ),
)
