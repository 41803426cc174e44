"""Parquet in the request log's own schema, ours or somebody else's."""

from collections.abc import Iterator

from cachecast_datasets.log_meta import LogMeta
from cachecast_datasets.readers.reader import Head, Reader
from cachecast_datasets.request import Request
from cachecast_datasets.source import Source
from cachecast_datasets.trace import Trace


def read(source: Source) -> Iterator[Request]:
    """The sound rows as they are; each other one is told to `source.bad`."""
    # where bad rows are skipped, the import finds duplicate ids itself
    trace = Trace(source.path, check_ids=not source.skip_bad)
    source.meta = trace.meta
    source.line_word = "source_line"  # the column keeps the line of the log it was imported from
    source.accounts_hashed = True  # by the trace
    source.notes.extend(trace.warnings)
    for row, request in enumerate(trace.salvage(source.bad), start=1):
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
    became={
        "every column of `cachecast.request_log`": "itself; only the first two are required",
        "the file's metadata": "evidence, kind of times, whether markers could be seen",
        "a file without our metadata": "evidence as its columns show; boundaries are computed",
    },
    cannot_tell=("whatever the log that it was made from could not tell",),
)
