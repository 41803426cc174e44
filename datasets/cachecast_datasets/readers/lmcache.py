"""LMCache agent traces: the prompt's text, its output, a session and microsecond timestamps.

A prompt is one string that grows from turn to turn; it is cut where an earlier prompt of the
session ended, so that a block is what one turn added. Format: LMCache benchmarks; read 2026-11.
"""

from collections import defaultdict
from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from typing import Annotated

import msgspec

from cachecast_datasets.content import hashes_of
from cachecast_datasets.hashing import content_hash
from cachecast_datasets.readers.lines import requests_by_line
from cachecast_datasets.readers.prompt_texts import estimated_tokens
from cachecast_datasets.readers.reader import Head, Reader
from cachecast_datasets.request import ContentBlock, Request
from cachecast_datasets.request_log import LogMeta
from cachecast_datasets.source import Source

_MOST_ENDS = 1024  # ends of earlier prompts remembered for one session
_LATEST_US = 10**18


class _Line(msgspec.Struct):
    timestamp: Annotated[int, msgspec.Meta(ge=0, le=_LATEST_US)]
    input: str
    session_id: str | None = None
    output: str | None = None


_DECODER = msgspec.json.Decoder(_Line)


class _Session:
    """Where the prompts of a session ended: (length in bytes, hash) in order of length."""

    def __init__(self) -> None:
        self._ends: dict[int, set[int]] = {}

    def pieces(self, prompt: bytes) -> list[bytes]:
        """`prompt` cut at the ends of the earlier prompts that it begins with."""
        cuts = [
            length
            for length, hashes in sorted(self._ends.items())
            if length < len(prompt) and content_hash(prompt[:length]) in hashes
        ]
        if len(self._ends) < _MOST_ENDS:
            self._ends.setdefault(len(prompt), set()).add(content_hash(prompt))
        edges = [0, *cuts, len(prompt)]
        return [prompt[start:end] for start, end in pairwise(edges)]


def read(source: Source) -> Iterator[Request]:
    """One request a line, its id the line number."""
    return requests_by_line(source, _DECODER, partial(_request, defaultdict(_Session)))


def _request(
    sessions: defaultdict[str | None, _Session], source: Source, number: int, row: _Line
) -> Request:
    pieces = sessions[row.session_id].pieces(row.input.encode())
    blocks = [_block(piece, place) for place, piece in enumerate(pieces)]
    return Request(
        request_id=f"{source.prefix}{number}",
        arrival_us=row.timestamp,
        session_id=row.session_id,
        blocks=blocks,
        answer_hash=content_hash(row.output.encode()) if row.output else None,
        prompt_tokens=sum(block.tokens for block in blocks),
        # an empty output is a tool call that the trace leaves out
        output_tokens=estimated_tokens(row.output) if row.output else None,
        source_line=number,
    )


def _block(piece: bytes, place: int) -> ContentBlock:
    text = piece.decode(errors="replace")
    hashes = hashes_of(text)
    return ContentBlock(
        section="user",
        role="user",
        kind="text",
        message=place,
        tokens=estimated_tokens(text),
        hash=hashes.raw,
        canonical_hash=hashes.canonical,
        masked_hash=hashes.masked,
    )


def _recognises(head: Head) -> bool:
    # Langfuse's export of traces has these, too, and an id
    own = {"timestamp", "input", "session_id"} <= head.keys
    return own and not {"id", "name", "project_id", "projectId"} & head.keys


READER = Reader(
    name="lmcache",
    description='LMCache agent JSONL ({"timestamp": µs, "input": text, "output", "session_id"})',
    recognises=_recognises,
    read=read,
    meta=LogMeta(
        "lmcache",
        "text",
        carries_markers=False,
        time_origin="absolute",
        tokenizer="estimate: UTF-8 bytes / 4",
        text_seen=True,
    ),
    became={
        "timestamp": "arrival (microseconds since 1970)",
        "input": "blocks: one for what each turn added; prompt_tokens (estimated)",
        "output": "output_tokens (estimated), answer_hash; an empty one is unknown",
        "session_id": "session_id",
    },
    cannot_tell=(
        "the model, the account and what any cache did",
        "token counts: they are estimated by bytes",
        "tools, system prompt and roles: the prompt is one string",
        "what two sessions share beyond whole turns",
        "when the first token came and the response ended",
    ),
)
