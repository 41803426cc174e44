"""Parquet in the request log's own schema, ours or somebody else's."""

from collections.abc import Iterator

from cachecast_datasets.readers.reader import Head, Reader
from cachecast_datasets.request import Request
from cachecast_datasets.request_log import LogMeta
from cachecast_datasets.source import Source
from cachecast_datasets.trace import open_trace


def read(source: Source) -> Iterator[Request]:
    """The rows as they are. A fault ends the reading: Parquet has no single bad lines to skip."""
    trace = open_trace(source.path)
    source.meta = trace.meta
    source.accounts_hashed = trace.ours
    source.notes.extend(trace.warnings)
    for row, request in enumerate(trace, start=1):
        if request.source_line is None:
            request.source_line = row
        yield request
    source.position(source.path.stat().st_size)


def _recognises(head: Head) -> bool:
    return head.magic.startswith(b"PAR1")


READER = Reader(
    name="parquet",
    description="cachecast Parquet",
    recognises=_recognises,
    read=read,
    meta=LogMeta("parquet", "counts", carries_markers=False),
)
