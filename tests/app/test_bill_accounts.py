"""Accounts of a Parquet that somebody else wrote: keys in everything that `bill` says and keeps."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from foreign_parquet import STAMP, end, parquet

from cachecast_datasets.accounts import account_key, stored_account
from cachecast_datasets.importing import import_log
from cachecast_datasets.trace import open_trace

RunCli = Callable[..., tuple[int, str, str]]
ACME = account_key("acme")
BOUNDARIES = {"boundaries": [[end(128)], [end(128)]]}


@pytest.fixture(params=["plain", "stamped as ours"])
def log(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    folder = tmp_path / "log"
    folder.mkdir()
    stamped: Any = request.param != "plain"
    more: dict[str, Any] = BOUNDARIES if stamped else {}
    return parquet(folder, STAMP if stamped else None, account=["acme", None], **more)


def test_a_run_holds_no_name_of_an_account(log: Path, tmp_path: Path, run_cli: RunCli) -> None:
    run = tmp_path / "run"
    code, out, _ = run_cli(
        "bill", log, "--as", "claude-opus-5", "--by", "account", "-o", run, "--json"
    )
    assert (code, "acme" in out, ACME in out) == (0, False, True)
    for name in ("requests", "ledger"):
        table = pq.read_table(run / f"{name}.parquet")
        assert table.column("account").to_pylist() == [ACME, None]
    assert not [file for file in run.iterdir() if b"acme" in file.read_bytes()]


def test_where_sees_the_accounts_that_the_run_has(log: Path, run_cli: RunCli) -> None:
    scenario = ("bill", log, "--as", "claude-opus-5", "--per-request", "--where")
    code, out, _ = run_cli(*scenario, f"account = '{ACME}'")
    assert (code, out.count('"request_id":"a"'), out.count('"request_id":"b"')) == (0, 1, 0)
    code, _, said = run_cli(*scenario, "account = 'acme'")
    assert (code, "accounts are hashed" in said) == (2, True)


def test_a_foreign_account_has_the_same_key_billed_directly_and_imported(
    log: Path, tmp_path: Path
) -> None:
    import_log([log], tmp_path / "out.parquet")
    for path in (log, tmp_path / "out.parquet"):
        assert [request.account for request in open_trace(path)] == [ACME, None]


def test_a_key_is_kept_in_our_own_files_only() -> None:
    assert stored_account(ACME, is_ours=True) == ACME
    assert stored_account(ACME, is_ours=False) == account_key(ACME)
    assert stored_account(ACME[1:], is_ours=True) == account_key(ACME[1:])
