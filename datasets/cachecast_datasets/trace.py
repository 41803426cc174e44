"""A cachecast Parquet, opened for streaming."""

from collections.abc import Collection, Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from cachecast_datasets.boundaries import TokenBoundaryTracker, boundaries_of
from cachecast_datasets.checks import check_batch, check_order, shown
from cachecast_datasets.conform import check_columns, conformed
from cachecast_datasets.decode import requests_of
from cachecast_datasets.duplicates import duplicate_ids
from cachecast_datasets.errors import at, at_row
from cachecast_datasets.parquet_writer import meta_from
from cachecast_datasets.request import Request
from cachecast_datasets.request_log import EVIDENCE, FORMAT_NAME, SCHEMA, VERSION, LogMeta
from cachecast_datasets.summary import ImportSummary

BATCH_ROWS = 1024  # small enough for the processor cache: faster than 512 or 2048

# what boundaries are computed from, where a file has none
_SOURCES_OF_BOUNDARIES = (
    "account", "session_id", "hash_scope", "blocks", "token_blocks", "token_block_size",
    "prompt_tokens", "tools_tokens", "system_tokens", "input_types", "output_types",
)  # fmt: skip


class Trace:
    """A request log: iterate it for whole requests, or ask `requests` for a few columns.

    `rows` counts its requests, `meta` is what the log says about itself, `warnings` what a person
    should know, `imported` the summary where the log was imported just now.
    """

    def __init__(self, path: Path) -> None:
        """Open `path` and check its columns. LogError if it is no request log."""
        self.path = path
        self.imported: ImportSummary | None = None
        self.ours = False
        source = str(path)
        with self._file() as file:
            self._schema = file.schema_arrow
            self.rows = file.metadata.num_rows
            values = {k.decode(): v.decode() for k, v in (file.metadata.metadata or {}).items()}
        _check_version(values, source)
        unknown = check_columns(self._schema, source)
        self.warnings = [f"{path}: unknown column {name} is ignored" for name in unknown]
        stamped = meta_from(values)
        self.meta = stamped or _guessed(self._schema, self._first_arrival_us())
        # our importer checks ids and computes boundaries before it writes; others are checked here
        self.ours = stamped is not None and "cachecast.ids_checked" in values
        if not self.ours:
            self._check_ids()

    def __iter__(self) -> Iterator[Request]:
        return self.requests()

    def requests(
        self,
        *,
        columns: Collection[str] | None = None,
        where: npt.NDArray[np.bool_] | None = None,
    ) -> Iterator[Request]:
        """Requests by arrival; only `columns` are decoded (request_id and arrival always).

        `where` has one truth value per row of the file, in file order. Raises LogError for a row
        that breaks the schema or the order. Memory does not grow with the log.
        """
        wanted = set(SCHEMA.names if columns is None else columns) | set(SCHEMA.names[:2])
        fill = not self.ours and "boundaries" in wanted
        if fill:
            wanted.update(_SOURCES_OF_BOUNDARIES)
        tracker = TokenBoundaryTracker() if fill else None
        row = 0
        for batch in self._checked(wanted):
            rows, row = slice(row, row + batch.num_rows), row + batch.num_rows
            if tracker is not None:
                made = list(requests_of(batch))
                for request in made:
                    if request.boundaries is None:
                        request.boundaries = boundaries_of(request, tracker)
                keep = [True] * len(made) if where is None else where[rows].tolist()
                yield from (request for request, kept in zip(made, keep, strict=True) if kept)
            else:
                yield from requests_of(
                    batch if where is None else batch.filter(pa.array(where[rows]))
                )

    def batches(self, columns: Collection[str] | None = None) -> Iterator[pa.RecordBatch]:
        """The same rows as checked Arrow batches in SCHEMA's types, at most BATCH_ROWS each."""
        return self._checked(
            set(SCHEMA.names if columns is None else columns) | set(SCHEMA.names[:2])
        )

    def _checked(self, wanted: Collection[str]) -> Iterator[pa.RecordBatch]:
        source, row, last_us = str(self.path), 1, None
        names = [name for name in self._schema.names if name in wanted and name in SCHEMA.names]
        with self._file() as file:
            for batch in _read(file, names, source):
                if not self.ours:
                    batch = conformed(batch, source, row)
                check_batch(batch, source, row)
                if batch.num_rows:
                    last_us = check_order(batch.column("arrival"), source, row, last_us)
                row += batch.num_rows
                yield batch

    def _file(self) -> pq.ParquetFile:
        try:
            # a dictionary of boundary names decodes once instead of once a boundary
            encoded = ["boundaries.list.element.name"] if self.ours else None
            return pq.ParquetFile(self.path, read_dictionary=encoded)
        except FileNotFoundError as problem:
            raise at(str(self.path), None, "no such file") from problem
        except (pa.ArrowInvalid, OSError) as problem:
            raise at(
                str(self.path), None, "not a whole Parquet file (cut short, or another kind)"
            ) from problem

    def _first_arrival_us(self) -> int | None:
        with self._file() as file:
            for batch in _read(file, ["arrival"], str(self.path)):
                if batch.num_rows:
                    return int(
                        conformed(batch, str(self.path), 1).column(0).view(pa.int64())[0].as_py()
                    )
        return None

    def _check_ids(self) -> None:
        def ids() -> Iterator[pa.Array]:
            row = 1
            with self._file() as file:
                for batch in _read(file, ["request_id"], str(self.path)):
                    batch = conformed(batch, str(self.path), row)
                    check_nulls(batch, str(self.path), row)
                    row += batch.num_rows
                    yield batch.column(0)

        for value, first, later in duplicate_ids(ids, self.rows):
            problem = (
                f"request_id is {shown(value)}, which row {first + 1} already has; "
                "expected unique ids"
            )
            raise at_row(str(self.path), later + 1, problem, "duplicate id")


def open_trace(path: Path) -> Trace:
    """The cachecast Parquet at `path`, its columns, version and ids checked.

    LogError if it is not one. Values and order are checked while the rows are read.
    """
    return Trace(path)


def check_nulls(batch: pa.RecordBatch, source: str, first_row: int) -> None:
    """LogError if the ids of `batch` (one column) have a null."""
    if batch.column(0).null_count:
        row = batch.column(0).is_null().to_pylist().index(True)
        raise at_row(source, first_row + row, "request_id is null, expected a value")


def _read(file: pq.ParquetFile, names: list[str], source: str) -> Iterator[pa.RecordBatch]:
    try:
        # a row group at a time: a batch over two of them would mix two dictionaries of names
        for group in range(file.num_row_groups):
            yield from file.iter_batches(
                BATCH_ROWS, row_groups=[group], columns=names, use_threads=False
            )
    except (pa.ArrowInvalid, OSError) as problem:
        raise at(
            source, None, f"the Parquet is damaged: {str(problem).splitlines()[0]}"
        ) from problem


def _check_version(values: dict[str, str], source: str) -> None:
    if values.get("cachecast.format", FORMAT_NAME) != FORMAT_NAME:
        raise at(source, None, f"format is {values['cachecast.format']}, expected {FORMAT_NAME}")
    version = values.get("cachecast.version", str(VERSION))
    if version != str(VERSION):
        raise at(source, None, f"version is {version}, expected {VERSION}")


def _guessed(schema: pa.Schema, first_us: int | None) -> LogMeta:
    """Metadata for a file that carries none: what its columns show."""
    evidence = next((level for level in EVIDENCE if level in schema.names), "counts")
    if "token_ids" in schema.names:
        evidence = "tokens"
    year_2000_us = 946_684_800_000_000
    absolute = first_us is not None and first_us >= year_2000_us
    return LogMeta(
        source_format="parquet",
        evidence=evidence,
        carries_markers="blocks" in schema.names,
        time_origin="absolute" if absolute else "relative",
    )
