"""Azure LLM inference trace: a CSV of arrival, prompt length and output length, nothing else.

Times have no zone and are UTC; the trace gives them to 100 ns, of which microseconds are kept.
Format: Azure/AzurePublicDataset, 2023 and 2024; read 2026-11.
"""

from collections.abc import Iterator

from cachecast_datasets.log_meta import LogMeta
from cachecast_datasets.readers.fields import Fields
from cachecast_datasets.readers.reader import Head, Reader
from cachecast_datasets.readers.rows import read_rows
from cachecast_datasets.request import Request
from cachecast_datasets.source import Source

_COLUMNS = ("TIMESTAMP", "ContextTokens", "GeneratedTokens")


def read(source: Source) -> Iterator[Request]:
    """One request a row; its id is the line number."""
    for row in read_rows(source):
        try:
            yield _request(source, row.number, Fields(row.raw))
        except ValueError as problem:
            source.bad(row.fault(str(problem)))


def _request(source: Source, number: int, row: Fields) -> Request:
    for name in _COLUMNS[1:]:
        if row.value(name) is None:
            raise ValueError(f"{name} is missing, expected a whole number of tokens")
    return Request(
        request_id=f"{source.prefix}{number}",
        arrival_us=row.arrival_us("TIMESTAMP"),
        prompt_tokens=row.optional("ContextTokens"),
        output_tokens=row.optional("GeneratedTokens"),
        source_line=number,
    )


def _recognises(head: Head) -> bool:
    return set(_COLUMNS) <= set(head.columns)


READER = Reader(
    name="azure",
    description="Azure inference trace CSV (TIMESTAMP,ContextTokens,GeneratedTokens)",
    recognises=_recognises,
    read=read,
    meta=LogMeta("azure", "counts", carries_markers=False, time_origin="absolute"),
    became={
        "TIMESTAMP": "arrival (UTC)",
        "ContextTokens": "prompt_tokens",
        "GeneratedTokens": "output_tokens",
    },
    cannot_tell=(
        "the model, the conversation and the account",
        "what was cached: every prompt token is of unknown class",
        "what two prompts share, so no cache can be simulated",
        "when the first token came and the response ended",
    ),
)
