"""A cachecast Parquet, opened for streaming."""

from collections.abc import Collection, Iterator
from itertools import compress
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from cachecast_datasets.boundaries import TokenBoundaryTracker, boundaries_of
from cachecast_datasets.checks import Bad, RowChecker, refuse, shown
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
_FOR_BOUNDARIES = (
    "account", "session_id", "hash_scope", "blocks", "token_blocks", "token_block_size",
    "prompt_tokens", "tools_tokens", "system_tokens", "input_types", "output_types",
)  # fmt: skip


class Trace:
    """A request log: iterate it for whole requests, or ask `requests` for a few columns.

    `rows` counts its requests, `meta` is what the log says about itself, `warnings` what a person
    should know, `imported` the summary where the log was imported just now.
    """

    def __init__(self, path: Path, *, check_ids: bool = True) -> None:
        """Open `path`, check its columns and ids. LogError if it is no request log."""
        self.path = path
        self.imported: ImportSummary | None = None
        self._exact = False  # SCHEMA's own types throughout, boundaries among them
        source = str(path)
        with self._file() as file:
            self._schema = file.schema_arrow
            self.rows = file.metadata.num_rows
            values = {
                k.decode(errors="replace"): v.decode(errors="replace")
                for k, v in (file.metadata.metadata or {}).items()
            }
        _check_version(values, source)
        unknown = check_columns(self._schema, source)
        self.warnings = [f"{path}: unknown column {name} is ignored" for name in unknown]
        stamped = meta_from(values)
        self.meta = stamped or _guessed(self._schema, self._first_arrival_us())
        # the importer computes boundaries before it writes; elsewhere they may be missing
        self.ours = stamped is not None and "boundaries" in self._schema.names
        self._exact = "boundaries" in self._schema.names and all(
            SCHEMA.field(field.name).type == field.type
            for field in self._schema
            if field.name in SCHEMA.names
        )
        if check_ids:
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
        wanted = set(SCHEMA.names if columns is None else columns)
        assert where is None or len(where) == self.rows
        fill = not self.ours and "boundaries" in wanted
        row = 0
        tracker = TokenBoundaryTracker()
        for batch in self.batches(wanted.union(_FOR_BOUNDARIES) if fill else wanted):
            kept = None if where is None else where[row : row + batch.num_rows]
            row += batch.num_rows
            if fill:
                made = _filled(requests_of(batch), tracker)
                yield from made if kept is None else compress(made, kept.tolist())
            else:
                yield from requests_of(batch if kept is None else batch.filter(pa.array(kept)))

    def batches(
        self, columns: Collection[str] | None = None, bad: Bad = refuse
    ) -> Iterator[pa.RecordBatch]:
        """The same rows as checked Arrow batches in SCHEMA's types, at most BATCH_ROWS each.

        `bad` gets a LogError for each row that breaks the schema or the order; where it returns,
        the row is left out.
        """
        wanted = set(SCHEMA.names if columns is None else columns) | set(SCHEMA.names[:2])
        assert wanted <= set(SCHEMA.names), wanted - set(SCHEMA.names)
        names = [name for name in self._schema.names if name in wanted and name in SCHEMA.names]
        source, row = str(self.path), 1
        checker = RowChecker(source, bad)
        with self._file() as file:
            for batch in _read(file, names, source):
                made = batch if self._exact else conformed(batch, source, row)
                row += batch.num_rows
                yield checker.sound(made)

    def salvage(self, bad: Bad) -> Iterator[Request]:
        """All sound rows as whole requests, without boundaries where the file has none."""
        for batch in self.batches(bad=bad):
            yield from requests_of(batch)

    def _file(self) -> pq.ParquetFile:
        try:
            # a dictionary of boundary names decodes once instead of once a boundary
            encoded = ["boundaries.list.element.name"] if self._exact else None
            return pq.ParquetFile(self.path, read_dictionary=encoded)
        except FileNotFoundError as problem:
            raise at(str(self.path), None, "no such file") from problem
        except (pa.ArrowException, OSError, UnicodeDecodeError) as problem:
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


def _filled(requests: Iterator[Request], tracker: TokenBoundaryTracker) -> Iterator[Request]:
    for request in requests:
        if request.boundaries is None:
            request.boundaries = boundaries_of(request, tracker)
        yield request


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
            for batch in file.iter_batches(
                BATCH_ROWS, row_groups=[group], columns=names, use_threads=False
            ):
                batch.validate(full=True)  # text that is no UTF-8 would fail much later
                yield batch
    except (pa.ArrowException, OSError) as problem:
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
