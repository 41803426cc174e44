"""Writing a run: a folder that appears whole, under its own name, or not at all."""

import contextlib
import errno
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet as pq

from cachecast.results.schema import FORMAT_NAME, VERSION
from cachecast.versions import versions
from cachecast_datasets.errors import BadInput

# Large enough for DuckDB to skip through, small enough to hold a few in memory.
ROW_GROUP_ROWS = 65_536

_CANNOT_WRITE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS)


class TableWriter:
    """One Parquet table of a run; batches of any size go in, row groups of one size come out."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self.schema = schema
        self.rows = 0
        self._file = pq.ParquetWriter(path, schema, compression="zstd")
        self._waiting: list[pa.RecordBatch] = []
        self._waiting_rows = 0

    def write(self, batch: pa.RecordBatch) -> None:
        """Append the batch, whose schema is this table's."""
        assert batch.schema.equals(self.schema), f"a batch with other columns: {batch.schema}"
        self._waiting.append(batch)
        self._waiting_rows += batch.num_rows
        self.rows += batch.num_rows
        if self._waiting_rows >= ROW_GROUP_ROWS:
            self._flush()

    def close(self) -> None:
        """Write what waits and the footer; further calls do nothing."""
        if self._waiting_rows:
            self._flush()
        self._file.close()

    def _flush(self) -> None:
        table = pa.Table.from_batches(self._waiting, schema=self.schema)
        self._file.write_table(table, row_group_size=ROW_GROUP_ROWS)
        self._waiting, self._waiting_rows = [], 0


class RunWriter:
    """A run in the making, in a hidden folder beside its place until `finish` gives it its name.

    Leaving the `with` block by an exception, or without `finish`, leaves nothing behind. A folder
    that is not empty is never touched, unless `force` is set and it is a run.
    """

    def __init__(self, path: Path, force: bool = False) -> None:
        self.path = path
        self._place = path.resolve()  # a link is followed, not replaced
        self._force = force
        self._tables: dict[str, TableWriter] = {}
        self._temporary: Path | None = None

    def __enter__(self) -> Self:
        try:
            _check_free(self.path, self._force)
            made = tempfile.mkdtemp(
                prefix=f".{self._place.name}.", suffix=".part", dir=self._place.parent
            )
        except OSError as problem:
            raise BadInput(f"{self.path}: cannot be written ({problem.strerror})") from None
        self._temporary = Path(made)
        os.chmod(made, 0o777 & ~_umask())  # mkdtemp's own 0700 would stay on the finished run
        return self

    def table(self, name: str, schema: pa.Schema) -> TableWriter:
        """The table of that name, opened on its first mention; the schema is then fixed."""
        assert self._temporary is not None, "a table is asked for outside the with block"
        if name not in self._tables:
            self._tables[name] = TableWriter(self._temporary / f"{name}.parquet", schema)
        return self._tables[name]

    def finish(self, meta: Mapping[str, Any]) -> None:
        """Close the tables, write `run.json` with `meta` and move the run to its place."""
        assert self._temporary is not None, "a run is finished once"
        for table in self._tables.values():
            table.close()
        rows = {name: {"rows": table.rows} for name, table in self._tables.items()}
        text = json.dumps(_info(meta, rows), indent=2, ensure_ascii=False, default=str) + "\n"
        (self._temporary / "run.json").write_text(text, encoding="utf-8")
        _check_free(self.path, self._force)  # somebody may have taken the place meanwhile
        _put_in_place(self._temporary, self._place)
        self._temporary = None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._temporary is None:
            return
        for table in self._tables.values():
            with contextlib.suppress(OSError, pa.ArrowException):
                table.close()
        shutil.rmtree(self._temporary, ignore_errors=True)
        self._temporary = None
        if isinstance(problem, OSError) and problem.errno in _CANNOT_WRITE:
            raise BadInput(f"{self.path}: cannot be written ({problem.strerror})") from None


def is_run(path: Path) -> bool:
    """Whether the folder holds a run (judged by its `run.json` alone)."""
    try:
        info = json.loads((path / "run.json").read_bytes())
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(info, dict) and info.get("format") == FORMAT_NAME


def hash_inputs(paths: Iterable[Path], on_file: Callable[[], None] = lambda: None) -> str:
    """`sha256:` and the digest of the files' bytes, in the given order; folders count by content.

    Names do not enter: a log that was moved is the same input. `on_file` comes before each file.
    """
    digest = hashlib.sha256()
    for path in paths:
        files = sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]
        for file in files:
            on_file()
            with file.open("rb") as stream:
                digest.update(hashlib.file_digest(stream, "sha256").digest())
    return f"sha256:{digest.hexdigest()}"


def _info(meta: Mapping[str, Any], tables: dict[str, dict[str, int]]) -> dict[str, Any]:
    return {
        "format": FORMAT_NAME,
        "version": VERSION,
        "versions": versions(),
        "command": None,
        "scenarios": [],
        "seeds": {},
        "input_hash": None,
        "assumptions": [],
        **meta,
        "tables": tables,
    }


def _check_free(path: Path, force: bool) -> None:
    """BadInput unless a run may be put at `path`."""
    if not path.resolve().parent.is_dir():
        raise BadInput(f"{path}: the folder {path.resolve().parent} does not exist; make it first")
    if not path.exists():
        return
    if not path.is_dir():
        raise BadInput(f"{path}: is a file; a run is a folder, give it another name")
    if not any(path.iterdir()):
        return
    if not is_run(path):
        raise BadInput(f"{path}: the folder is not empty and is not a run; give another name")
    own = _files_of_run(path)
    strangers = sorted(p.name for p in path.iterdir() if p.name not in own or not p.is_file())
    if strangers:
        raise BadInput(
            f"{path}: beside the run there is {strangers[0]}, which no run wrote; "
            "move it away or give another name"
        )
    if not force:
        raise BadInput(f"{path}: there is a run already; give another name, or --force")


def _files_of_run(path: Path) -> set[str]:
    """The files that the run's own `run.json` names; --force removes nothing else."""
    tables = json.loads((path / "run.json").read_bytes()).get("tables") or {}
    return {"run.json", *(f"{name}.parquet" for name in tables)}


def _put_in_place(finished: Path, place: Path) -> None:
    """Move the run to its place; an older run there goes only after the new one stands."""
    if place.is_dir() and any(place.iterdir()):
        aside = finished.with_suffix(".old")
        place.rename(aside)
        finished.rename(place)
        shutil.rmtree(aside)
    else:
        finished.rename(place)


def _umask() -> int:
    """The process's mask for new files; it can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
