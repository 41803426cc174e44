"""Import other people's logs into one cachecast Parquet, sorted by arrival, in bounded memory."""

import hashlib
import random
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from cachecast_datasets.boundaries import TokenBoundaryTracker, boundaries_of
from cachecast_datasets.checks import shown
from cachecast_datasets.decode import requests_of
from cachecast_datasets.duplicates import duplicate_ids
from cachecast_datasets.encode import batch_of, boundaries_column
from cachecast_datasets.errors import BadInput, LogError
from cachecast_datasets.parquet_writer import log_writer
from cachecast_datasets.readers.reader import Reader
from cachecast_datasets.request import Request
from cachecast_datasets.request_log import SCHEMA, LogMeta, merged_meta
from cachecast_datasets.sorting import ORDER, SOURCE, ArrivalSorter
from cachecast_datasets.source import Source
from cachecast_datasets.sources import sniff
from cachecast_datasets.summary import ImportSummary, Skip
from cachecast_datasets.tallies import SkipTally, Tally
from cachecast_datasets.trace import Trace, open_trace

__all__ = ["ImportSummary", "Skip", "import_log", "open_or_import"]

Progress = Callable[[str, int, int], None]  # (what is being done, how much is done, of how much)

BATCH_ROWS = 2048
BATCH_BLOCKS = 1 << 20  # token blocks and token ids that wait for one Arrow batch
CONTENT_BLOCK = 16  # as many bytes as so many token blocks


def import_log(
    sources: Sequence[Path],
    out: Path,
    *,
    skip_bad: bool = False,
    spread_s: float | None = None,
    seed: int = 0,
    keep_text: bool = False,
    force: bool = False,
    progress: Progress | None = None,
) -> ImportSummary:
    """Read `sources` (any format of READERS), merge them by arrival and write `out`.

    `spread_s` shifts each session by its own offset in [0, spread_s), fixed by `seed`. With
    `skip_bad` a bad row (or JSON file) is left out and counted, else it raises LogError. `out`
    appears whole or not at all, and is not overwritten without `force` (BadInput).
    """
    if out.exists() and not force:
        raise BadInput(f"{out}: exists already, expected a new file (or --force)")
    if not out.parent.is_dir():
        raise BadInput(f"{out}: there is no folder {out.parent}")
    readers = [(path, sniff(path)) for path in sources]
    run = _Import(readers, out, skip_bad, spread_s, seed, progress or (lambda what, done, of: None))
    if keep_text:
        run.warnings.append("--keep-text: these formats carry no text, nothing to keep")
    try:
        with tempfile.TemporaryDirectory(prefix=".cachecast-import-", dir=out.parent) as folder:
            return run.run(Path(folder))
    except OSError as problem:  # no right to write there, or the disk is full
        raise BadInput(f"{out}: the import failed: {problem.strerror or problem}") from problem


def open_or_import(
    paths: Sequence[Path],
    *,
    skip_bad: bool = False,
    tmp_dir: Path,
    progress: Progress | None = None,
) -> Trace:
    """One cachecast Parquet as it is; anything else imported into a new Parquet in `tmp_dir`.

    With `skip_bad` a Parquet is imported too: what is left out must be counted once and for all.
    The trace's `imported` is the import's summary, None for a Parquet opened as it is.
    """
    if len(paths) == 1 and sniff(paths[0]).name == "parquet" and not skip_bad:
        return open_trace(paths[0])
    out = Path(tempfile.mkdtemp(prefix="cachecast-", dir=tmp_dir)) / "log.parquet"
    summary = import_log(paths, out, skip_bad=skip_bad, progress=progress)
    trace = open_trace(out)
    trace.imported = summary
    trace.warnings.extend(summary.warnings)
    return trace


class _Import:
    """One import: read and sort, drop or refuse duplicates, then compute boundaries and write."""

    def __init__(
        self,
        readers: list[tuple[Path, Reader]],
        out: Path,
        skip_bad: bool,
        spread_s: float | None,
        seed: int,
        progress: Progress,
    ) -> None:
        self._readers = readers
        self._out = out
        self._skip_bad = skip_bad
        self._spread_s = spread_s
        self._seed = seed
        self._progress = progress
        self._skipped = SkipTally()
        self._tally = Tally()
        self._metas: list[LogMeta] = []
        self._seen: set[int] = set()
        self._have_boundaries: set[int] = set()  # the sources whose rows need none made
        self.warnings: list[str] = []

    def run(self, folder: Path) -> ImportSummary:
        """Do it, with temporary files in `folder`."""
        sorter = ArrivalSorter(folder)
        done, total = 0, sum(_size(path) for path, _ in self._readers)
        for index, (path, reader) in enumerate(self._readers):
            source = Source(
                path,
                prefix=f"{path.name}:" if len(self._readers) > 1 else "",
                bad=self._bad,
                skip_bad=self._skip_bad,
                lost=self._lost,
                position=partial(self._reading, done, total),
                seen=self._seen,
            )
            for requests in _batched(self._prepared(source, reader)):
                sorter.add(batch_of(requests), index)
            done += _size(path)
            if source.has_boundaries:
                self._have_boundaries.add(index)
            self._metas.append(source.meta or reader.meta)
            self.warnings.extend(source.notes)
        meta = merged_meta(self._metas, [path for path, _ in self._readers])
        if self._spread_s is not None and meta.time_origin == "absolute":
            raise BadInput("--spread shifts logs with relative times, but this log's are absolute")
        dropped = self._duplicates(sorter)
        with log_writer(self._out, meta) as writer:
            for batch in self._finished(sorter, dropped):
                writer.write(batch)
        return self._summary(writer.rows, meta)

    def _reading(self, before: int, total: int, used: int) -> None:
        self._progress("reading", before + used, total)

    def _bad(self, problem: LogError) -> None:
        if not self._skip_bad:
            raise problem
        self._skipped.add(problem.reason, str(problem))

    def _lost(self, problem: LogError) -> None:
        self._skipped.add(problem.reason, str(problem))

    def _prepared(self, source: Source, reader: Reader) -> Iterator[Request]:
        for request in reader.read(source):
            if request.account is not None and not source.accounts_hashed:
                request.account = _account_key(request.account)
            if self._spread_s is not None and request.session_id is not None:
                draw = random.Random(f"{self._seed}/{request.session_id}").random()
                request.arrival_us += int(draw * self._spread_s * 1_000_000)
            yield request

    def _duplicates(self, sorter: ArrivalSorter) -> npt.NDArray[np.int64]:
        """The input order numbers of rows whose id an earlier row has. LogError unless skipping."""
        names = ["request_id", "source_line", ORDER, SOURCE]

        def ids() -> Iterator[pa.Array]:
            for batch in sorter.columns(names):
                yield batch.column(0)

        pairs = list(duplicate_ids(ids, sorter.rows))
        if not pairs:
            return np.empty(0, dtype=np.int64)
        wanted = {index for _, first, later in pairs for index in (first, later)}
        places = dict(_places(sorter.columns(names), wanted))
        groups: dict[str, set[tuple[int, str]]] = {}
        for value, first, later in pairs:
            groups.setdefault(value, set()).update((places[first], places[later]))
        dropped = []
        for value, members in groups.items():
            (_, kept), *others = sorted(members)
            for order, place in others:
                self._bad(self._duplicate(value, kept, place))
                dropped.append(order)
        return np.array(dropped, dtype=np.int64)

    def _duplicate(self, value: str, kept: str, place: str) -> LogError:
        names = [str(path) for path, _ in self._readers]

        def spelled(text: str) -> str:
            source, line = text.split(":")
            return f"{names[int(source)]} line {line}"

        problem = (
            f"request_id is {shown(value)}, which {spelled(kept)} already has; expected unique ids"
        )
        error = LogError(f"{spelled(place)}: {problem}")
        error.reason = "duplicate id"
        return error

    def _finished(
        self, sorter: ArrivalSorter, dropped: npt.NDArray[np.int64]
    ) -> Iterator[pa.RecordBatch]:
        """Batches of SCHEMA in order of arrival, duplicates left out, boundaries filled in."""
        tracker = TokenBoundaryTracker()
        row = 0
        for batch in sorter.merged():
            if len(dropped):
                kept = ~np.isin(batch.column(ORDER).to_numpy(), dropped)
                batch = batch.filter(pa.array(kept))
            made = self._have_boundaries.issuperset(pc.unique(batch.column(SOURCE)).to_pylist())
            batch = batch.select(SCHEMA.names)
            requests = list(requests_of(batch.select(_FOR_TALLY if made else _FOR_BOUNDARIES)))
            self._tally.add(requests)
            if not made:
                values = [boundaries_of(request, tracker) for request in requests]
                index = SCHEMA.get_field_index("boundaries")
                batch = batch.set_column(index, SCHEMA.field(index), boundaries_column(values))
            row += batch.num_rows
            self._progress("writing", row, sorter.rows)
            yield batch

    def _summary(self, rows: int, meta: LogMeta) -> ImportSummary:
        aligned = {"kv-cache-tester"} & {one.source_format for one in self._metas}
        sessions = self._tally.sessions
        if aligned and self._spread_s is None and sessions > 1:
            self.warnings.append(
                f"all {sessions} sessions start at t = 0 as the source has them; "
                "--spread SECONDS --seed N spreads them"
            )
        if rows == 0:
            self.warnings.append("the log has no requests")
        return ImportSummary(
            rows=rows,
            out=self._out,
            source_format=meta.source_format,
            evidence=meta.evidence,
            sessions=sessions,
            models=self._tally.models,
            period=self._tally.period(meta.time_origin),
            skipped=self._skipped.skips(),
            warnings=self.warnings,
        )


_FOR_TALLY = ["request_id", "arrival", "session_id", "model"]
_FOR_BOUNDARIES = [
    "request_id", "arrival", "account", "session_id", "model", "hash_scope", "blocks",
    "boundaries", "token_block_size", "token_blocks", "prompt_tokens", "tools_tokens",
    "system_tokens", "input_types", "output_types",
]  # fmt: skip


def _batched(requests: Iterator[Request]) -> Iterator[list[Request]]:
    waiting: list[Request] = []
    blocks = 0
    for request in requests:
        waiting.append(request)
        for part in (request.token_blocks, request.token_ids, request.output_token_ids):
            blocks += 0 if part is None else len(part)
        blocks += 0 if request.blocks is None else CONTENT_BLOCK * len(request.blocks)
        if len(waiting) >= BATCH_ROWS or blocks >= BATCH_BLOCKS:
            yield waiting
            waiting, blocks = [], 0
    if waiting:
        yield waiting


def _account_key(account: str) -> str:
    """Accounts never reach a file as they are: a name for the same isolation, not for a person."""
    return hashlib.blake2b(account.encode(), digest_size=8, person=b"cachecast.acct").hexdigest()


def _size(path: Path) -> int:
    if path.is_dir():
        return sum(file.stat().st_size for file in path.rglob("*.json*"))
    return path.stat().st_size


def _places(
    batches: Iterator[pa.RecordBatch], wanted: set[int]
) -> Iterator[tuple[int, tuple[int, str]]]:
    """(index, (order of input, "SOURCE:LINE")) for the wanted indexes of the rows."""
    index = 0
    for batch in batches:
        rows = range(index, index + batch.num_rows)
        for number in wanted.intersection(rows):
            _, line, order, source = (column[number - index].as_py() for column in batch.columns)
            yield number, (order, f"{source}:{line}")
        index += batch.num_rows
