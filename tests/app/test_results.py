"""A run is a folder that is there whole, or not there at all."""

import errno
import importlib.metadata
import json
import os
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cachecast.results import RunWriter, connect, read_info
from cachecast.results.schema import LEDGER, MISSES, REQUESTS, TABLES, requests_batch
from cachecast.results.views import VIEWS
from cachecast.results.writer import ROW_GROUP_ROWS, hash_inputs, is_run
from cachecast.versions import versions
from cachecast_datasets.errors import BadInput
from cachecast_datasets.request_log import SCHEMA


def _numbers(count: int) -> pa.RecordBatch:
    return pa.record_batch({"n": pa.array(range(count), pa.int64())})


def _write(path: Path, force: bool = False, rows: int = 3, **meta: Any) -> None:
    with RunWriter(path, force) as run:
        run.table("numbers", _numbers(0).schema).write(_numbers(rows))
        run.finish(meta)


def test_a_finished_run_has_its_tables_and_says_what_made_it(tmp_path: Path) -> None:
    """run.json holds versions, rows per table and everything that the command handed in."""
    _write(tmp_path / "run", rows=3, scenarios=[{"name": "a"}], seeds={"all": 7}, input_hash="x")

    info = read_info(tmp_path / "run")
    assert info["tables"] == {"numbers": {"rows": 3}}
    assert info["scenarios"] == [{"name": "a"}]
    assert info["seeds"] == {"all": 7}
    assert info["input_hash"] == "x"
    assert info["assumptions"] == []
    assert {"python", "cachecast", "duckdb", "pyarrow", "simpy"} <= set(info["versions"])
    assert pq.read_table(tmp_path / "run" / "numbers.parquet").num_rows == 3


def test_a_plain_checkout_has_no_version_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    def version(name: str) -> str:
        if name == "cachecast":
            raise importlib.metadata.PackageNotFoundError(name)
        return "1.2"

    monkeypatch.setattr(importlib.metadata, "version", version)
    found = versions()
    assert (found["cachecast"], found["numpy"]) == (None, "1.2")


def test_two_runs_of_the_same_rows_are_the_same_bytes(tmp_path: Path) -> None:
    """Nothing in a run depends on when or where it was written."""
    for name in ("a", "b"):
        _write(tmp_path / name)

    first = {file.name: file.read_bytes() for file in (tmp_path / "a").iterdir()}
    second = {file.name: file.read_bytes() for file in (tmp_path / "b").iterdir()}
    assert first == second


def test_small_batches_are_gathered_into_row_groups(tmp_path: Path) -> None:
    """The order of rows is kept and no batch becomes a row group of its own."""
    with RunWriter(tmp_path / "run") as run:
        table = run.table("numbers", _numbers(0).schema)
        for start in range(0, ROW_GROUP_ROWS + 10_000, 10_000):
            numbers = pa.array(range(start, start + 10_000), pa.int64())
            table.write(pa.record_batch({"n": numbers}))
        run.finish({})

    file = pq.ParquetFile(tmp_path / "run" / "numbers.parquet")
    # seven batches fill one group and begin the next, the eighth waits for the end
    assert file.metadata.num_row_groups == 3
    assert file.read()["n"].to_pylist() == list(range(80_000))


@pytest.mark.parametrize("written", [0, 5, ROW_GROUP_ROWS + 1])
def test_a_run_that_fails_leaves_nothing_behind(tmp_path: Path, written: int) -> None:
    """Neither the run nor its temporary folder stays."""

    def fail() -> None:
        with RunWriter(tmp_path / "run") as run:
            run.table("numbers", _numbers(0).schema).write(_numbers(written))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()

    assert list(tmp_path.iterdir()) == []


def test_a_run_that_is_not_finished_leaves_nothing_behind(tmp_path: Path) -> None:
    """Only `finish` gives a run its name."""
    with RunWriter(tmp_path / "run") as run:
        run.table("numbers", _numbers(0).schema).write(_numbers(5))

    assert list(tmp_path.iterdir()) == []


def test_an_empty_folder_may_become_a_run(tmp_path: Path) -> None:
    """There is nothing in it to lose."""
    (tmp_path / "run").mkdir()
    _write(tmp_path / "run")

    assert is_run(tmp_path / "run")


def test_a_run_is_not_overwritten_unless_it_is_said(tmp_path: Path) -> None:
    """Without force the old run stays; with force the new one stands alone in its place."""
    run = tmp_path / "run"
    _write(run, rows=1)
    with pytest.raises(BadInput, match=r"there is a run already; give another name, or --force"):
        _write(run, rows=2)
    assert read_info(run)["tables"]["numbers"]["rows"] == 1

    _write(run, force=True, rows=2)

    assert read_info(run)["tables"]["numbers"]["rows"] == 2
    assert list(tmp_path.iterdir()) == [run]


def _foreign_folder(path: Path) -> None:
    path.mkdir()
    (path / "thesis.txt").write_text("years of work")


def _other_json(path: Path) -> None:
    path.mkdir()
    (path / "run.json").write_text('{"format": "another tool"}')


def _file(path: Path) -> None:
    path.write_text("years of work")


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("occupy", [_foreign_folder, _other_json, _file])
def test_what_is_not_a_run_is_never_replaced(
    tmp_path: Path, occupy: Callable[[Path], None], force: bool
) -> None:
    """Force replaces runs only."""
    occupy(tmp_path / "run")

    with pytest.raises(BadInput, match=r"run: (is a file|the folder is not empty)"):
        _write(tmp_path / "run", force=force)

    assert len(list(tmp_path.rglob("*"))) == (1 if occupy is _file else 2)


def test_a_run_in_a_folder_that_does_not_exist_is_refused_with_its_name(tmp_path: Path) -> None:
    """We make one folder, not a chain of them that a typing error asked for."""
    with pytest.raises(BadInput, match=r"nowhere does not exist; make it first"):
        _write(tmp_path / "nowhere" / "run")


def test_a_link_to_a_run_is_followed(tmp_path: Path) -> None:
    """The run behind the link is replaced, the link stays."""
    _write(tmp_path / "real", rows=1)
    (tmp_path / "latest").symlink_to("real")
    _write(tmp_path / "latest", force=True, rows=2)

    assert (tmp_path / "latest").is_symlink()
    assert read_info(tmp_path / "real")["tables"]["numbers"]["rows"] == 2
    assert {path.name for path in tmp_path.iterdir()} == {"real", "latest"}


def test_a_full_disk_is_one_sentence_and_leaves_nothing_behind(tmp_path: Path) -> None:
    """The message names the run and the reason."""

    def fill() -> None:
        with RunWriter(tmp_path / "run"):
            raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(BadInput, match=r"run: cannot be written \(No space left on device\)"):
        fill()

    assert list(tmp_path.iterdir()) == []


def test_the_finished_folder_has_ordinary_permissions(tmp_path: Path) -> None:
    """A colleague may read a run if they may read any other new folder."""
    (tmp_path / "ordinary").mkdir()
    _write(tmp_path / "run")

    assert os.stat(tmp_path / "run").st_mode == os.stat(tmp_path / "ordinary").st_mode


def test_the_hash_of_the_input_follows_its_bytes_and_not_its_name(tmp_path: Path) -> None:
    """A moved log is the same input; one byte more is another one; order counts."""
    (tmp_path / "a").write_bytes(b"one")
    (tmp_path / "b").write_bytes(b"two")
    (tmp_path / "c").write_bytes(b"one")
    a, b, c = tmp_path / "a", tmp_path / "b", tmp_path / "c"

    assert hash_inputs([a]) == hash_inputs([c])
    assert hash_inputs([a, b]) != hash_inputs([b, a])
    (tmp_path / "c").write_bytes(b"one ")
    assert hash_inputs([a]) != hash_inputs([c])


def test_a_log_batch_becomes_rows_of_requests_without_its_content() -> None:
    """Rows are numbered on from the given one; missing columns are null; blocks are left out."""
    log = pa.RecordBatch.from_pylist(
        [{"request_id": "r1", "arrival": 0, "token_blocks": [1, 2]}],
        schema=pa.schema([SCHEMA.field(n) for n in ("request_id", "arrival", "token_blocks")]),
    )

    rows = requests_batch(log, first_row=41).to_pylist()
    assert [(row["row"], row["request_id"], row["prompt_tokens"]) for row in rows] == [
        (41, "r1", None)
    ]
    assert not {"blocks", "boundaries", "token_blocks", "token_ids"} & set(rows[0])


def test_every_column_of_every_view_is_documented(tmp_path: Path) -> None:
    """The documentation lists the very columns that the view has, in their order."""
    with RunWriter(tmp_path / "run") as run:
        run.finish({})
    connection = connect(tmp_path / "run")
    for name, view in VIEWS.items():
        columns = [row[0] for row in connection.execute(f"DESCRIBE {name}").fetchall()]
        assert columns == list(view.columns), name
    connection.close()


# views of what `bill` does not write: test_simulate and test_replay show that they have rows
OF_FLEETS = ("served", "timeline", "measured", "steps")


def test_every_example_of_every_view_runs(bill_run: Path) -> None:
    """Documentation that fails is worse than none."""
    connection = connect(bill_run)
    for name, view in VIEWS.items():
        rows = connection.execute(view.example).fetchall()
        assert rows or name in OF_FLEETS, name
    connection.close()


def test_the_schemas_name_what_the_design_asks_for() -> None:
    """The tables, and money as whole picounits."""
    assert list(TABLES) == [
        "requests", "ledger", "misses", "served", "timeline", "measured", "steps",
    ]  # fmt: skip
    for name in ("charge_total", "without_cache", "charge_low", "charge_high"):
        assert LEDGER.field(name).type == pa.int64()
    assert MISSES.field("cost_picounits").type == pa.int64()
    assert REQUESTS.names[0] == "row"


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (None, "has no run.json"),
        ("{", "is not JSON"),
        ('["x"]', "not a run"),
        ('{"format": "x"}', "not a run"),
        ('{"format": "cachecast.run", "version": 99}', "version 99 of the run format"),
    ],
)
def test_a_folder_that_is_no_run_is_refused(
    tmp_path: Path, content: str | None, problem: str
) -> None:
    """The sentence names the file and what is wrong with it."""
    if content is not None:
        (tmp_path / "run.json").write_text(content)

    with pytest.raises(BadInput, match=problem):
        connect(tmp_path)


def test_a_damaged_table_is_refused_by_name(tmp_path: Path) -> None:
    """The name of the file that is cut short is in the message."""
    _write(tmp_path / "run")
    file = tmp_path / "run" / "numbers.parquet"
    file.write_bytes(file.read_bytes()[:-7])

    with pytest.raises(BadInput, match=r"numbers\.parquet: cannot be read as Parquet"):
        connect(tmp_path / "run")


def test_money_in_views_is_exact_to_the_picounit(bill_run: Path) -> None:
    """Sums of amounts that no float can hold come out digit by digit."""
    connection = connect(bill_run)
    rows = connection.execute("SELECT charge FROM by_scenario WHERE scenario = 'a'").fetchall()
    connection.close()

    assert rows == [(Decimal("9000000.000000000001") + Decimal("0.000000000002"),)]


def test_run_json_is_plain_json(bill_run: Path) -> None:
    """Any program can read it."""
    assert json.loads((bill_run / "run.json").read_text())["format"] == "cachecast.run"
