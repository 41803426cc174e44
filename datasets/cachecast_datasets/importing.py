"""Import other people's logs into one cachecast Parquet, sorted by arrival, in bounded memory."""

import random
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from cachecast_datasets.accounts import account_key
from cachecast_datasets.anonymising import Anonymiser, from_first_arrival
from cachecast_datasets.batching import batched
from cachecast_datasets.boundaries import TokenBoundaryTracker, boundaries_of
from cachecast_datasets.checks import FLAT, broken_rows
from cachecast_datasets.content_names import ContentNames
from cachecast_datasets.decode import requests_of
from cachecast_datasets.duplicate_rows import repeated_rows
from cachecast_datasets.encode import batch_of, boundaries_column
from cachecast_datasets.errors import BadInput, LogError
from cachecast_datasets.exchange import Texts
from cachecast_datasets.limits import MAX_US
from cachecast_datasets.log_meta import LogMeta, merged_meta
from cachecast_datasets.log_output import is_mooncake, write_log
from cachecast_datasets.outputs import check_output
from cachecast_datasets.readers.reader import Reader
from cachecast_datasets.request import Request
from cachecast_datasets.request_log import SCHEMA
from cachecast_datasets.row_places import RowPlaces
from cachecast_datasets.secrets import cleaned
from cachecast_datasets.sorting import ORDER, SOURCE, ArrivalSorter
from cachecast_datasets.source import Source, scopes
from cachecast_datasets.sources import size_of, sniff
from cachecast_datasets.summary import ImportSummary, Skip
from cachecast_datasets.tallies import SkipTally, Tally
from cachecast_datasets.text_file import left_behind, text_file, text_path
from cachecast_datasets.tokenizers import Tokenizer
from cachecast_datasets.trace import Trace, open_trace
from cachecast_datasets.workspace import workspace

__all__ = ["ImportSummary", "Skip", "import_log", "open_or_import"]

Progress = Callable[[str, int, int], None]  # (what is being done, how much is done, of how much)


def import_log(
    sources: Sequence[Path],
    out: Path,
    *,
    skip_bad: bool = False,
    spread_s: float | None = None,
    seed: int = 0,
    keep_text: bool = False,
    tokenizer: Tokenizer | None = None,
    force: bool = False,
    anonymise: Anonymiser | None = None,
    progress: Progress | None = None,
    processes: int = 1,
) -> ImportSummary:
    """Read `sources` (any format of READERS), merge them by arrival and write `out`.

    `spread_s` shifts each session by its own offset in [0, spread_s), fixed by `seed`. With
    `skip_bad` a bad row (or JSON file) is left out and counted, else it raises LogError. With
    `keep_text` the texts of prompts and answers go to a file beside `out` (`text_path`); without
    it no text is stored. `tokenizer` counts the tokens of texts, else their bytes do. `out`
    appears whole or not at all, and is not overwritten without `force` (BadInput). With `anonymise`
    ids and contents become salted hashes, times count from the first arrival, and an `out` that
    ends in .jsonl gets the Mooncake shape. More than one of `processes` read large folders of
    transcripts together, with the same result: then the main module must be importable without
    effect (`if __name__ == "__main__":`), as multiprocessing asks of every script.
    """
    check_output(out, sources, force)
    texts = text_path(out) if keep_text else None
    if texts is not None:
        check_output(texts, sources, force)
    if is_mooncake(out) and anonymise is None:
        raise BadInput(f"{out}: JSONL is written with --anonymise only, expected a .parquet")
    readers = [(path, sniff(path)) for path in sources]
    run = _Import(readers, out, skip_bad, spread_s, seed, progress or (lambda what, done, of: None))
    run.anonymise = anonymise
    run.tokenizer = tokenizer
    run.processes = processes
    if texts is None and left_behind(out):
        run.warnings.append(f"{text_path(out)} holds the texts of an earlier import")
    try:
        with workspace(out.parent) as folder:
            if texts is None:
                return run.run(folder)
            with text_file(folder, texts, run.warnings) as file:
                run.texts = file.add
                return run.run(folder)
    except OSError as problem:  # no right to write there, or the disk is full
        raise BadInput(f"{out}: the import failed: {problem.strerror or problem}") from problem


def open_or_import(
    paths: Sequence[Path],
    *,
    skip_bad: bool = False,
    tmp_dir: Path,
    progress: Progress | None = None,
    processes: int = 1,
    keep_text: bool = False,
) -> Trace:
    """One cachecast Parquet as it is; else, or with `skip_bad`, a new Parquet in `tmp_dir`.

    `keep_text` and `processes` as in `import_log`; `imported` is its summary, None for a Parquet
    opened as it is.
    """
    if len(paths) == 1 and sniff(paths[0]).name == "parquet" and not skip_bad:
        return open_trace(paths[0])
    out = Path(tempfile.mkdtemp(prefix="cachecast-", dir=tmp_dir)) / "log.parquet"
    summary = import_log(
        paths, out, skip_bad=skip_bad, progress=progress, keep_text=keep_text, processes=processes
    )
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
        self._places = RowPlaces()
        self._names = ContentNames()
        self.anonymise: Anonymiser | None = None
        self._seen: set[int] = set()
        self._have_boundaries: set[int] = set()  # the sources whose rows need none made
        self.warnings: list[str] = []
        self.tokenizer: Tokenizer | None = None
        self.processes = 1
        self.texts: Texts | None = None

    def run(self, folder: Path) -> ImportSummary:
        """Do it, with temporary files in `folder`."""
        sorter = ArrivalSorter(folder)
        done, total = 0, sum(size_of(path) for path, _ in self._readers)
        several = len(self._readers) > 1
        for (path, reader), scope in zip(
            self._readers, scopes([path for path, _ in self._readers]), strict=True
        ):
            source = Source(
                path,
                prefix=f"{scope}:" if several else "",
                scope=scope,
                bad=self._bad,
                skip_bad=self._skip_bad,
                beside=tuple(p for p, other in self._readers if other is reader),
                tokenizer=self.tokenizer,
                texts=self.texts,
                position=partial(self._reading, done, total),
                names=self._names,
                lost=self._skipped.problem,
                seen=self._seen,
                processes=self.processes,
            )
            before = len(self._places)
            for rows in batched(self._prepared(source, reader)):
                requests, files = zip(*rows, strict=True)
                if self.anonymise is not None:
                    self.anonymise.requests(requests)
                sorter.add(*self._sound(cleaned(batch_of(requests)), files))
            done += size_of(path)
            if source.has_boundaries:
                self._have_boundaries.update(range(before, len(self._places)))
            self._metas.append(source.meta or reader.meta)
            self.warnings.extend(source.notes)
        meta = merged_meta(self._metas, [path for path, _ in self._readers])
        if self._spread_s is not None and meta.time_origin == "absolute":
            raise BadInput("--spread shifts logs with relative times, but this log's are absolute")
        dropped = repeated_rows(sorter, self._places, self._bad)
        merged = sorter.merged()
        if self.anonymise is not None:
            meta, merged = self.anonymise.meta(meta), from_first_arrival(merged)
        batches = self._finished(merged, sorter.rows, dropped)
        written, notes = write_log(self._out, meta, batches, folder)
        self.warnings.extend(notes)
        return self._summary(written, meta)

    def _reading(self, before: int, total: int, used: int) -> None:
        self._progress("reading", before + used, total)

    def _bad(self, problem: LogError) -> None:
        if not self._skip_bad:
            problem.skippable = True
            raise problem
        self._skipped.problem(problem)

    def _prepared(self, source: Source, reader: Reader) -> Iterator[tuple[Request, int]]:
        """Each request as it is stored, with the number of its file."""
        for request in reader.read(source):
            if request.account is not None and not source.accounts_hashed:
                request.account = account_key(request.account)
            if self._spread_s is not None and request.session_id is not None:
                draw = random.Random(f"{self._seed}/{request.session_id}").random()
                request.arrival_us += int(draw * self._spread_s * 1_000_000)
                if request.arrival_us > MAX_US:
                    problem = f"--spread {self._spread_s:g} moves a request beyond 10^10 s"
                    raise BadInput(f"{source.label}: {problem}, expected a shorter one")
            yield request, self._places.number_of(source)

    def _sound(
        self, batch: pa.RecordBatch, files: Sequence[int]
    ) -> tuple[pa.RecordBatch, Sequence[int]]:
        """The rows that can be read back: what a reader lets through, the log may not hold."""

        def tell(row: int, problem: str, reason: str) -> None:
            line = batch.column("source_line")[row].as_py()
            self._bad(self._places.fault(files[row], line, problem, reason))

        wrong = broken_rows(batch.select(FLAT), tell)
        if not wrong.any():
            return batch, files
        kept = [file for file, out in zip(files, wrong.tolist(), strict=True) if not out]
        return batch.filter(pa.array(~wrong)), kept

    def _finished(
        self, merged: Iterator[pa.RecordBatch], rows: int, dropped: npt.NDArray[np.int64]
    ) -> Iterator[pa.RecordBatch]:
        """Batches of SCHEMA in order of arrival, duplicates left out, boundaries filled in."""
        tracker, row = TokenBoundaryTracker(), 0
        for batch in merged:
            if len(dropped):
                batch = batch.filter(pa.array(~np.isin(batch.column(ORDER).to_numpy(), dropped)))
            made = self._have_boundaries.issuperset(pc.unique(batch.column(SOURCE)).to_pylist())
            batch = batch.select(SCHEMA.names)
            requests = list(requests_of(batch.select(_FOR_TALLY if made else _FOR_BOUNDARIES)))
            self._tally.add(requests)
            if not made:
                values = [boundaries_of(request, tracker) for request in requests]
                index = SCHEMA.get_field_index("boundaries")
                batch = batch.set_column(index, SCHEMA.field(index), boundaries_column(values))
            row += batch.num_rows
            self._progress("writing", row, rows)
            yield batch

    def _summary(self, rows: int, meta: LogMeta) -> ImportSummary:
        aligned = any(reader.name == "kv-cache-tester" for _, reader in self._readers)
        sessions = self._tally.sessions
        if aligned and self._spread_s is None and sessions > 1:
            self.warnings.append(
                f"all {sessions} sessions start at t = 0 as the source has them; "
                "cachecast import --spread SECONDS --seed N spreads them"
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
