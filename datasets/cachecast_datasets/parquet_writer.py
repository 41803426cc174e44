"""Write a request log: one Parquet, bounded memory, whole or not at all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import fields
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from cachecast_datasets.errors import BadInput
from cachecast_datasets.request_log import FORMAT_NAME, SCHEMA, VERSION, LogMeta

FLAGS = ("carries_markers", "keeps_partial_block", "text_seen")
ROW_GROUP_ROWS = 8192
ROW_GROUP_BYTES = 48 << 20

# Ids of prefix-chained sources run upwards through a prompt (hashing.scoped_ids keeps that), so
# their differences are nearly all 1: delta encoding needs 0.05 bytes a block where a dictionary
# needs 2. Chained xxHash values are random, there a dictionary wins: the writer looks first.
_TOKEN_BLOCKS = "token_blocks.list.element"
_NUMERIC = {"arrival", "prompt_tokens", "output_tokens", "source_line"}


def metadata_of(meta: LogMeta) -> dict[str, str]:
    """The key-value metadata that `meta_from` reads back."""
    values = {"cachecast.format": FORMAT_NAME, "cachecast.version": str(VERSION)}
    for field in fields(meta):
        value = getattr(meta, field.name)
        if value is not None:
            values[f"cachecast.{field.name}"] = (
                str(value).lower() if isinstance(value, bool) else value
            )
    return values


def meta_from(values: dict[str, str]) -> LogMeta | None:
    """The LogMeta in Parquet key-value metadata, None if another program wrote the file."""
    if values.get("cachecast.format") != FORMAT_NAME:
        return None
    known = {}
    for field in fields(LogMeta):
        text = values.get(f"cachecast.{field.name}")
        if text is not None:
            known[field.name] = text == "true" if field.name in FLAGS else text
    try:
        return LogMeta(**known)  # type: ignore[arg-type]
    except TypeError:  # somebody wrote the format's name but not the rest
        return None


class LogWriter:
    """Collects batches into row groups of bounded size."""

    def __init__(self, path: Path, meta: LogMeta) -> None:
        self.rows = 0
        self._path = path
        self._schema = SCHEMA.with_metadata(metadata_of(meta))
        self._writer: pq.ParquetWriter | None = None
        self._waiting: list[pa.RecordBatch] = []
        self._waiting_rows = 0
        self._waiting_bytes = 0

    def write(self, batch: pa.RecordBatch) -> None:
        """Append `batch` (columns of SCHEMA, sorted by arrival after all earlier ones)."""
        self.rows += batch.num_rows
        self._waiting.append(batch)
        self._waiting_rows += batch.num_rows
        self._waiting_bytes += batch.nbytes
        if self._waiting_rows >= ROW_GROUP_ROWS or self._waiting_bytes >= ROW_GROUP_BYTES:
            self._flush()

    def close(self) -> None:
        """Write what waits and the footer."""
        self._flush()
        assert self._writer is not None
        self._writer.close()

    def abandon(self) -> None:
        """Let the file go without a footer."""
        if self._writer is not None:
            self._writer.close()

    def _flush(self) -> None:
        table = pa.Table.from_batches(self._waiting, schema=SCHEMA)
        if self._writer is None:
            self._writer = self._open(table)
        if table.num_rows:
            self._writer.write_table(table, row_group_size=table.num_rows)
        self._waiting, self._waiting_rows, self._waiting_bytes = [], 0, 0

    def _open(self, first: pa.Table) -> pq.ParquetWriter:
        ascending = _mostly_ascending(first)
        encoding = {_TOKEN_BLOCKS: "DELTA_BINARY_PACKED"} if ascending else {}
        encoding |= dict.fromkeys(_NUMERIC, "DELTA_BINARY_PACKED")
        return pq.ParquetWriter(
            self._path,
            self._schema,
            compression="zstd",
            use_dictionary=[path for path in _leaves(SCHEMA) if path not in encoding],
            column_encoding=encoding,
            write_statistics=["arrival"],
        )


def _leaves(schema: pa.Schema) -> list[str]:
    """The dotted paths of all leaf columns, as Parquet names them."""
    return list(_paths("", list(schema)))


def _paths(prefix: str, columns: list[pa.Field]) -> Iterator[str]:
    for column in columns:
        path, kind = prefix + column.name, column.type
        if pa.types.is_map(kind):
            yield from (f"{path}.key_value.key", f"{path}.key_value.value")
        elif pa.types.is_list(kind):
            element = pa.field("list.element", kind.value_type)
            yield from _paths(f"{path}.", [element])
        elif pa.types.is_struct(kind):
            yield from _paths(f"{path}.", list(kind))
        else:
            yield path


def _mostly_ascending(table: pa.Table) -> bool:
    """Whether most neighbours in `token_blocks` differ by one."""
    flat = pc.list_flatten(table["token_blocks"].combine_chunks()).to_numpy()[:1_000_000]
    return len(flat) > 1 and bool(((flat[1:] - flat[:-1]) == 1).mean() > 0.5)


@contextmanager
def log_writer(path: Path, meta: LogMeta, folder: Path | None = None) -> Iterator[LogWriter]:
    """A writer whose file appears at `path` only when the block ends well.

    It writes a temporary file in `folder` (on the same disk; else beside `path`) and renames it;
    an error (or Ctrl-C) removes it.
    """
    partial = (folder or path.parent) / f".log.{os.getpid()}.partial"
    try:
        writer = LogWriter(partial, meta)
        try:
            yield writer
            writer.close()
        except BaseException:
            writer.abandon()
            raise
        os.replace(partial, path)
    except OSError as problem:
        raise BadInput(f"{path}: cannot be written: {problem.strerror or problem}") from problem
    finally:
        with suppress(OSError):  # a read-only folder refuses even what is not there
            partial.unlink()
