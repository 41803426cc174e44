"""Token-id JSONL: the prompt itself as token ids, arrival in seconds.

`{"id", "arrival", "prompt_token_ids", "output_len", "output_token_ids", "cache_salt"}`; the ids are
kept, and chained hashes of blocks of 16 tokens are computed from them.
"""

from collections.abc import Iterator

import msgspec

from cachecast_datasets.log_meta import LogMeta
from cachecast_datasets.readers.counts import Count
from cachecast_datasets.readers.lines import requests_by_line
from cachecast_datasets.readers.reader import Head, Reader
from cachecast_datasets.readers.times import microseconds
from cachecast_datasets.readers.token_prompts import Token, check_length, token_request
from cachecast_datasets.request import Request
from cachecast_datasets.source import Source


class _Line(msgspec.Struct, forbid_unknown_fields=True):
    arrival: float
    prompt_token_ids: list[Token]
    id: str | int | None = None
    output_len: Count | None = None
    output_token_ids: list[Token] | None = None
    cache_salt: str | None = None


_DECODER = msgspec.json.Decoder(_Line)
_KEYS = {"": _Line.__struct_fields__}


def read(source: Source) -> Iterator[Request]:
    """One request a line; its id is the line's own, else the line number."""
    return requests_by_line(source, _DECODER, _request, _KEYS)


def _request(source: Source, number: int, row: _Line) -> Request:
    arrival_us = microseconds(row.arrival, "arrival")
    check_length("output_len", row.output_len, "output_token_ids", row.output_token_ids)
    made = f"{source.prefix}{number if row.id is None else row.id}"
    return token_request(
        row.id if isinstance(row.id, str) else made,
        arrival_us,
        row.prompt_token_ids,
        row.output_token_ids,
        row.output_len,
        number,
        row.cache_salt,
    )


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
        "`cache_salt` (LoRA, tenant …)": "`hash_scope`: prompts of different salts share nothing",
        "`id`, else the line's number": "`request_id`",
    },
    cannot_tell=(
        "sessions, accounts and models",
        "where content blocks begin, and where markers stood",
        "what a provider reported",
    ),
)
