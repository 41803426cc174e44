"""Opening a run in DuckDB: its tables and the documented views, and no way to anything else."""

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from cachecast.results.schema import FORMAT_NAME, TABLES, VERSION
from cachecast.results.views import VIEWS
from cachecast_datasets.errors import BadInput

if TYPE_CHECKING:  # neither is needed to look at a `run.json`
    import duckdb
    import pyarrow.dataset as ds

# A query is the user's own, but it may come from a report that somebody else wrote. DuckDB gets the
# tables as Arrow datasets, so it needs no file access at all and every kind of it can be shut off.
# No folder to spill to either: DuckDB leaves that one open to every query.
_SETTINGS = (
    "SET temp_directory = ''",
    "SET TimeZone = 'UTC'",
    "SET autoinstall_known_extensions = false",
    "SET autoload_known_extensions = false",
    "SET enable_external_access = false",
    "SET lock_configuration = true",
)


def read_info(path: Path) -> dict[str, Any]:
    """What `run.json` says; BadInput if the folder is no run, or one of a later version."""
    file = path / "run.json"
    if not os.path.isdir(path):  # unlike Path.is_dir, false for a name that is too long
        raise BadInput(f"{path}: is not a run; a run is a folder that a command wrote with -o")
    if not file.is_file():
        raise BadInput(f"{path}: is not a run, it has no run.json; `-o RUN` writes one")
    try:
        info = json.loads(file.read_bytes())
    except OSError as problem:
        raise BadInput(f"{file}: cannot be read ({problem.strerror})") from None
    except (ValueError, RecursionError) as problem:
        raise BadInput(f"{file}: is not JSON ({problem}); a run's own file was expected") from None
    if not isinstance(info, dict) or info.get("format") != FORMAT_NAME:
        raise BadInput(f'{file}: "format" is not "{FORMAT_NAME}"; the folder is not a run')
    if info.get("version") != VERSION:
        found = info.get("version")
        raise BadInput(f"{file}: version {found} of the run format; this program reads {VERSION}")
    return info


def connect(path: Path, *, memory_mib: int | None = None) -> "duckdb.DuckDBPyConnection":
    """An in-memory database with the run's tables and views; it reads no file but the run's.

    The tables of every run exist even if the run has no file for them (then with no rows).
    A query that needs more than `memory_mib` fails; by default DuckDB takes most of the machine's.
    """
    import duckdb

    info = read_info(path)
    for name in info.get("tables") or ():
        if not (path / f"{name}.parquet").is_file():
            raise BadInput(f"{path}: the run is damaged, {name}.parquet is missing")
    connection = duckdb.connect(":memory:", config={"python_enable_replacements": False})
    for name, table in _tables(path).items():
        connection.register(f"raw_{name}" if name in VIEWS else name, table)
    try:
        for name, view in VIEWS.items():
            connection.execute(f"CREATE TEMP VIEW {name} AS {view.sql}")
        _document(connection)
    except duckdb.Error as problem:
        first = str(problem).strip().splitlines()[0]
        raise BadInput(f"{path}: the run is damaged, a table has other columns ({first})") from None
    if memory_mib is not None:
        connection.execute(f"SET memory_limit = '{memory_mib}MiB'")
    for setting in _SETTINGS:
        connection.execute(setting)
    return connection


def _tables(path: Path) -> "dict[str, ds.Dataset]":
    import pyarrow.dataset as ds  # it brings pandas, a fifth of a second before the first page

    found: dict[str, ds.Dataset] = {
        name: ds.dataset(pa.table({f.name: pa.array([], f.type) for f in schema}, schema=schema))
        for name, schema in TABLES.items()
    }
    for file in sorted(path.glob("*.parquet")):
        try:
            found[file.stem] = ds.dataset(file, format="parquet")
        except (OSError, pa.ArrowException) as problem:
            raise BadInput(f"{file}: cannot be read as Parquet ({problem})") from None
    return found


def _document(connection: "duckdb.DuckDBPyConnection") -> None:
    """The tables `views` and `view_columns`: the documentation, where a query can read it."""
    connection.execute('CREATE TEMP TABLE views ("view" VARCHAR, meaning VARCHAR, example VARCHAR)')
    connection.execute(
        'CREATE TEMP TABLE view_columns ("view" VARCHAR, "column" VARCHAR, type VARCHAR,'
        " meaning VARCHAR)"
    )
    for name, view in VIEWS.items():
        connection.execute("INSERT INTO views VALUES (?, ?, ?)", [name, view.meaning, view.example])
        kinds = connection.execute(f"DESCRIBE {name}").fetchall()
        for column, kind, *_ in kinds:
            meaning = view.columns.get(column)
            connection.execute(
                "INSERT INTO view_columns VALUES (?, ?, ?, ?)", [name, column, kind, meaning]
            )
