"""Where an import's batches go: a Parquet, or the Mooncake shape for a name that ends in .jsonl."""

from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa

from cachecast_datasets.log_meta import LogMeta
from cachecast_datasets.mooncake_writer import mooncake_writer
from cachecast_datasets.parquet_writer import log_writer


def is_mooncake(out: Path) -> bool:
    """Whether `out` is to get the Mooncake shape."""
    return out.suffix == ".jsonl"


def write_log(
    out: Path, meta: LogMeta, batches: Iterable[pa.RecordBatch], folder: Path
) -> tuple[int, list[str]]:
    """How many requests were written, and what to know of the file. It appears whole or not."""
    if is_mooncake(out):
        with mooncake_writer(out, meta.keeps_partial_block) as lines:
            for batch in batches:
                lines.write(batch)
        return lines.rows, lines.notes()
    with log_writer(out, meta, folder) as writer:
        for batch in batches:
            writer.write(batch)
    return writer.rows, []
