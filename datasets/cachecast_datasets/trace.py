"""A cachecast Parquet, opened for streaming."""

from collections.abc import Collection, Iterator
from itertools import compress, repeat
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from cachecast_datasets.accounts import without_accounts
from cachecast_datasets.boundaries import TokenBoundaryTracker, boundaries_of
from cachecast_datasets.checks import CHEAP, RowChecker
from cachecast_datasets.conform import check_columns, conformed, readable
from cachecast_datasets.decode import requests_of, scalars
from cachecast_datasets.duplicates import duplicate_ids
from cachecast_datasets.errors import Bad, at, at_row, refuse
from cachecast_datasets.request import Request
from cachecast_datasets.request_log import SCHEMA
from cachecast_datasets.secrets import cleaned
from cachecast_datasets.shown import named, shown
from cachecast_datasets.summary import ImportSummary
from cachecast_datasets.trace_meta import guessed, stamped_meta

BATCH_ROWS = 1024  # small enough for the processor cache: faster than 512 or 2048

# what boundaries are computed from, where a file has none
_FOR_BOUNDARIES = (
    "account", "session_id", "hash_scope", "blocks", "token_blocks", "token_block_size",
    "prompt_tokens", "tools_tokens", "system_tokens", "input_types", "output_types",
)  # fmt: skip

_EVIDENCE = ("blocks", "boundaries", "token_blocks", "token_ids")
_NAMES = ("model", "provider")
_ONLY_IF_ASKED = {"token_ids", "output_token_ids"}  # large, and no rule reads them


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
        self._prompts: npt.NDArray[np.bool_] | None = None
        self._models: frozenset[tuple[str | None, str | None]] | None = None
        source = str(path)
        with self._file() as file:
            self._schema = file.schema_arrow
            self.rows = file.metadata.num_rows
            values = file.metadata.metadata or {}
        stamped = stamped_meta(values, source)
        unknown = check_columns(self._schema, source)
        self.warnings = [f"{path}: unknown column {named(name)} is ignored" for name in unknown]
        self.meta = stamped or guessed(set(filter(self._holds, _EVIDENCE)), self._first_arrival())
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

        Without secrets, and with keys for accounts whoever wrote the file.

        `bad` gets a LogError for each row that breaks the schema or the order; where it returns,
        the row is left out.
        """
        wanted = set(SCHEMA.names if columns is None else columns) | set(SCHEMA.names[:2])
        assert wanted <= set(SCHEMA.names), wanted - set(SCHEMA.names)
        asked = [name for name in self._schema.names if name in wanted]
        # a file of somebody else is checked as a whole, whoever asks for what
        checked = wanted.union(CHEAP) if self.ours else wanted.union(SCHEMA.names) - _ONLY_IF_ASKED
        names = [name for name in self._schema.names if name in checked or name in asked]
        checker = RowChecker(str(self.path), bad)
        for batch, numbers in self._conformed(names, bad):
            sound, kept = checker.sound(batch, numbers)
            if self.ours and "boundaries" in wanted and sound.column("boundaries").null_count:
                sound = self._with_boundaries(sound, kept, bad)
            kept_columns = sound if len(names) == len(asked) else sound.select(asked)
            yield without_accounts(cleaned(kept_columns), self.ours)

    def models(self) -> frozenset[tuple[str | None, str | None]]:
        """Each (model, provider) that a request of the log names."""
        if self._models is None:
            found: set[tuple[str | None, str | None]] = set()
            for batch in self.batches(_NAMES):
                there, rows = batch.schema.names, batch.num_rows
                found.update(
                    zip(
                        *(
                            scalars(batch.column(name)) if name in there else repeat(None, rows)
                            for name in _NAMES
                        ),
                        strict=True,
                    )
                )
            self._models = frozenset(found)
        return self._models

    def _conformed(
        self, names: list[str], bad: Bad
    ) -> Iterator[tuple[pa.RecordBatch, npt.NDArray[np.int64]]]:
        source, row = str(self.path), 1
        with self._file() as file:
            for batch in _read(file, names, source):
                numbers = np.arange(row, row + batch.num_rows)
                row += batch.num_rows
                made, numbers = readable(batch, source, numbers, bad)
                yield (made, numbers) if self._exact else conformed(made, source, numbers, bad)

    def _with_boundaries(
        self, batch: pa.RecordBatch, numbers: npt.NDArray[np.int64], bad: Bad
    ) -> pa.RecordBatch:
        """Without rows that have a prompt but no boundaries, in a file that should have them."""
        if self._prompts is None:
            self._prompts = self._rows_with_prompts()
        missing = batch.column("boundaries").is_null().to_numpy(zero_copy_only=False)
        wrong = missing & self._prompts[numbers - 1]
        for number in numbers[wrong].tolist():
            problem = "boundaries is null, expected those of its blocks or token_blocks"
            bad(at_row(str(self.path), number, problem, "bad boundaries"))
        return batch.filter(pa.array(~wrong)) if wrong.any() else batch

    def _rows_with_prompts(self) -> npt.NDArray[np.bool_]:
        mask = np.zeros(self.rows, dtype=bool)
        for name in ("blocks", "token_blocks"):
            if name not in self._schema.names:
                continue
            row = 0
            with self._file() as file:
                for batch in _read(file, [name], str(self.path)):
                    valid = batch.column(0).is_valid().to_numpy(zero_copy_only=False)
                    mask[row : row + len(valid)] |= valid
                    row += len(valid)
        return mask

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
            raise at(
                str(self.path), None, "no such file, expected a cachecast request log"
            ) from problem
        except (pa.ArrowException, OSError, UnicodeDecodeError) as problem:
            raise at(
                str(self.path),
                None,
                "not a whole Parquet file (cut short, or another kind), expected a cachecast "
                "request log",
            ) from problem

    def _holds(self, name: str) -> bool:
        """Whether the column is there and not null throughout."""
        if name not in self._schema.names:
            return False
        with self._file() as file:
            return any(
                batch.column(0).null_count < batch.num_rows
                for batch in _read(file, [name], str(self.path))
            )

    def _first_arrival(self) -> int | None:
        """The first arrival in microseconds, None if there is none; faults are told later."""
        for batch, _ in self._conformed(["arrival"], lambda problem: None):
            for time in batch.column(0).drop_null().view(pa.int64()):
                return int(time.as_py())
        return None

    def _check_ids(self) -> None:
        def ids() -> Iterator[pa.Array]:
            for batch, numbers in self._conformed(["request_id"], refuse):
                ids = batch.column(0)
                if ids.null_count:
                    row = int(numbers[ids.is_null().to_pylist().index(True)])
                    raise at_row(str(self.path), row, "request_id is null, expected a value")
                yield ids

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


def _read(file: pq.ParquetFile, names: list[str], source: str) -> Iterator[pa.RecordBatch]:
    try:
        # a row group at a time: a batch over two of them would mix two dictionaries of names
        for group in range(file.num_row_groups):
            yield from file.iter_batches(
                BATCH_ROWS, row_groups=[group], columns=names, use_threads=False
            )
    except (pa.ArrowException, OSError, UnicodeDecodeError) as problem:
        what = str(problem).splitlines()[0] if str(problem) else type(problem).__name__
        problem_text = f"the Parquet is damaged ({what}), expected a whole Parquet file"
        raise at(source, None, problem_text, "damaged Parquet") from problem
