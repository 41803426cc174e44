"""`cachecast sql`: the views tell the truth, and a query can do nothing but ask."""

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cachecast.results.documentation import markdown
from cachecast.results.views import VIEWS

RunCli = Callable[..., tuple[int, str, str]]


@pytest.fixture
def ask(run_cli: RunCli, bill_run: Path) -> Callable[[str], list[dict[str, Any]]]:
    """Rows of a query to the small run of `runs.py`, through the command and its JSON."""

    def rows(query: str) -> list[dict[str, Any]]:
        code, out, err = run_cli("sql", bill_run, query, "--json")
        assert (code, err) == (0, "")
        return [json.loads(line) for line in out.splitlines()]

    return rows


Ask = Callable[[str], list[dict[str, Any]]]


def test_totals_add_up_what_is_priced_and_count_what_is_not(ask: Ask) -> None:
    """A request without a price adds tokens and a count, never money."""
    rows = ask("SELECT * FROM by_scenario WHERE scenario = 'a'")

    assert rows == [
        {
            "scenario": "a", "currency": "USD", "requests": 3,
            "prompt_tokens": 10 + 40 + 50, "cache_read": 30, "cache_write": 0,
            "fresh": 10 + 10 + 50, "output": 3,
            "token_hit_ratio": 30 / 100, "spend_hit_ratio": 2 / (9_000_000 * 10**12 + 3),
            "charge": "9000000.000000000003", "charge_low": "9000000.000000000003",
            "charge_high": "9000000.000000000003", "without_cache": "9000000.00000000001",
            "net_saving": "0.000000000007", "unpriced_requests": 1,
        }
    ]  # fmt: skip


def test_currencies_are_never_added_up(ask: Ask) -> None:
    """A scenario in two currencies has two rows, and a write can cost more than it saves."""
    rows = ask(
        "SELECT currency, requests, charge, net_saving FROM by_scenario"
        " WHERE scenario = 'b' ORDER BY currency"
    )

    assert rows == [
        {"currency": "CNY", "requests": 1, "charge": "7", "net_saving": "-1"},
        {"currency": "USD", "requests": 3, "charge": "10", "net_saving": "2"},
    ]


def test_reasons_are_summed_with_their_tokens_and_money(ask: Ask) -> None:
    """An unknown cost stays out of the sum and is counted."""
    rows = ask("SELECT * FROM by_reason WHERE scenario = 'a' ORDER BY reason, currency")

    assert [(r["reason"], r["currency"], r["requests"], r["tokens"], r["cost"]) for r in rows] == [
        ("cold_start", "USD", 2, 10 + 30, "0.000000000001"),
        ("ttl_expired", "USD", 2, 10 + 20, "0.25"),
    ]
    assert [(r["avoidable"], r["unpriced_requests"]) for r in rows] == [(False, 1), (True, 1)]


def test_sessions_hours_and_days_group_by_their_own_key(ask: Ask) -> None:
    """23:30 and 00:00 of the next day are two hours and two days."""
    sessions = ask("SELECT session_id, requests FROM by_session WHERE scenario = 'a'")
    hours = ask("SELECT hour, requests FROM by_hour WHERE scenario = 'a'")
    days = ask("SELECT day, requests FROM by_day WHERE scenario = 'a'")

    assert sessions == [{"session_id": "s1", "requests": 2}, {"session_id": "s2", "requests": 1}]
    assert hours == [
        {"hour": "2026-01-01T23:00:00Z", "requests": 1},
        {"hour": "2026-01-02T00:00:00Z", "requests": 2},
    ]
    assert days == [{"day": "2026-01-01", "requests": 1}, {"day": "2026-01-02", "requests": 2}]


def test_models_are_grouped_with_their_provider(ask: Ask) -> None:
    """One row per scenario, provider, model and currency."""
    rows = ask("SELECT provider, model, requests FROM by_model WHERE scenario = 'a'")

    assert rows == [{"provider": "p", "model": "m", "requests": 3}]


def test_the_ledger_in_sql_is_in_units_and_the_raw_one_in_picounits(ask: Ask) -> None:
    """Both are there; the name says which is which."""
    query = "SELECT charge_total FROM {} WHERE scenario = 'b' AND row = 0"

    assert ask(query.format("ledger")) == [{"charge_total": "4"}]
    assert ask(query.format("raw_ledger")) == [{"charge_total": 4 * 10**12}]


def test_null_is_null_in_json_empty_in_csv_and_named_in_a_table(
    run_cli: RunCli, bill_run: Path
) -> None:
    """No price must not look like a zero or a word in any output."""
    query = "SELECT charge_total AS c, 1.50 AS d FROM ledger WHERE scenario = 'a' AND row = 2"

    assert run_cli("sql", bill_run, query, "--json")[1] == '{"c":null,"d":"1.5"}\n'
    assert run_cli("sql", bill_run, query, "--csv")[1] == "c,d\n,1.5\n"
    assert "NULL" in run_cli("sql", bill_run, query)[1]


def test_every_duckdb_type_comes_out_as_json(ask: Ask) -> None:
    """Nested values, times, huge numbers and repeated names neither fail nor get lost."""
    rows = ask(
        "SELECT {'a': [1.0::DECIMAL(9,3)]} AS s, DATE '2026-01-02' AS d, 'x'::BLOB AS b,"
        " 170141183460469231731687303715884105727::HUGEINT AS h, 'nan'::FLOAT AS n,"
        " 18446744073709551615::UBIGINT AS u, INTERVAL 2 HOUR AS i, 1 AS x, 2 AS x, MAP {1: 2} AS m"
    )

    assert rows[0]["s"] == {"a": ["1"]}
    assert rows[0]["d"] == "2026-01-02"
    assert rows[0]["h"] == "170141183460469231731687303715884105727"
    assert rows[0]["u"] == 2**64 - 1
    assert rows[0]["n"] == "nan"
    assert (rows[0]["x"], rows[0]["x_2"]) == (1, 2)
    assert rows[0]["m"] == {"1": 2}


def test_csv_can_be_read_back(run_cli: RunCli, bill_run: Path) -> None:
    """Values with commas, quotes and line breaks survive."""
    code, out, _ = run_cli("sql", bill_run, "SELECT 'a,\"b\n' AS x, [1, 2] AS y", "--csv")

    assert code == 0
    assert list(csv.reader(io.StringIO(out))) == [["x", "y"], ['a,"b\n', "[1, 2]"]]


def test_limit_cuts_rows_and_a_cut_table_says_so_on_stderr(run_cli: RunCli, bill_run: Path) -> None:
    """Rows are on stdout, the note is not."""
    query = "SELECT * FROM range(1500) t(n) ORDER BY n"

    assert len(run_cli("sql", bill_run, query, "--json")[1].splitlines()) == 1500
    assert run_cli("sql", bill_run, query, "--json", "--limit", "2")[1] == '{"n":0}\n{"n":1}\n'
    assert run_cli("sql", bill_run, query, "--csv", "--limit", "0")[1] == "n\n"
    _, out, err = run_cli("sql", bill_run, query)
    assert "99" in out
    assert "100 " not in out
    assert "only the first 100 rows" in err
    assert run_cli("sql", bill_run, "SELECT * FROM range(100)")[2] == ""


def test_a_wide_table_keeps_every_column_when_piped(run_cli: RunCli, bill_run: Path) -> None:
    """A file or a pager has no width."""
    _, out, _ = run_cli("sql", bill_run, "SELECT * FROM ledger")

    assert all(name in out for name in VIEWS["ledger"].columns)


def test_without_a_query_it_lists_tables_views_and_examples(
    run_cli: RunCli, bill_run: Path
) -> None:
    """As text for a person, as rows for a program."""
    code, out, err = run_cli("sql", bill_run)
    assert (code, err) == (0, "")
    for name, view in VIEWS.items():
        assert f"{name}: {view.meaning}" in out
        assert view.example in out

    rows = [json.loads(line) for line in run_cli("sql", bill_run, "--json")[1].splitlines()]
    assert [row["view"] for row in rows] == list(VIEWS)


def test_the_columns_can_be_asked_for(ask: Ask) -> None:
    """The documentation is a table too."""
    rows = ask("SELECT * FROM view_columns WHERE \"view\" = 'by_reason' AND \"column\" = 'cost'")

    assert rows[0]["type"] == "DECIMAL(38,12)"
    assert "above the read price" in rows[0]["meaning"]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT", "SQL: Parser Error: SELECT clause without selection list"),
        ("SELECT * FROM nope", "Table with name nope does not exist! There are: requests, ledger"),
        ("SELECT nope FROM ledger", 'Referenced column "nope" not found in FROM clause!'),
        ("", "the query is empty"),
        ("/* nothing */", "the query is empty"),
        ("SELECT 'a'::INT", "Could not convert string 'a' to INT32"),
        ("SELECT error('stop')", "stop"),
    ],
)
def test_an_error_is_one_sentence_and_exit_code_2(
    run_cli: RunCli, bill_run: Path, query: str, message: str
) -> None:
    """No traceback, nothing on stdout."""
    code, out, err = run_cli("sql", bill_run, query)

    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM read_csv('{file}')",
        "SELECT * FROM read_text('{file}')",
        "SELECT * FROM '{file}'",
        "SELECT * FROM glob('/*')",
        "COPY ledger TO '{folder}/out.parquet'",
        "COPY ledger TO '{run}/ledger.parquet'",
        "EXPLAIN ANALYZE COPY ledger TO '{run}/ledger.parquet'",
        "EXPORT DATABASE '{folder}/out'",
        "ATTACH '{folder}/out.db'",
        "SET enable_external_access = true",
        "SET temp_directory = '{folder}'",
        "RESET lock_configuration",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SELECT * FROM run",
    ],
)
def test_a_query_reaches_nothing_but_the_run(
    run_cli: RunCli, bill_run: Path, tmp_path: Path, query: str
) -> None:
    """Files, settings, extensions and this program's own variables are out of reach."""
    secret = tmp_path / "secret.csv"
    secret.write_text("secret\n")
    before = {file: file.read_bytes() for file in bill_run.iterdir()}

    code, out, _ = run_cli(
        "sql", bill_run, query.format(file=secret, folder=tmp_path, run=bill_run)
    )

    assert (code, out) == (2, "")
    assert {file: file.read_bytes() for file in bill_run.iterdir()} == before
    assert list(tmp_path.iterdir()) == [secret]


def test_what_a_query_creates_is_gone_with_it(run_cli: RunCli, bill_run: Path) -> None:
    """Several statements may be given; the last one's rows are printed."""
    query = "CREATE TEMP TABLE t AS SELECT 7 AS n; SELECT n FROM t"

    assert run_cli("sql", bill_run, query, "--json")[1] == '{"n":7}\n'
    assert run_cli("sql", bill_run, "SELECT n FROM t")[0] == 2


def test_a_folder_that_is_not_a_run_is_bad_input(run_cli: RunCli, tmp_path: Path) -> None:
    """So are a missing folder and a file."""
    for place in (tmp_path, tmp_path / "missing", Path(__file__)):
        code, out, err = run_cli("sql", place, "SELECT 1")
        assert (code, out) == (2, "")
        assert f"{place}: is not a run" in err


def test_two_output_forms_at_once_are_refused(run_cli: RunCli, bill_run: Path) -> None:
    """There is one stdout."""
    assert run_cli("sql", bill_run, "SELECT 1", "--json", "--csv")[0] == 2


def test_the_page_in_docs_is_the_one_that_the_views_make(root: Path) -> None:
    """`make docs` writes it anew."""
    assert markdown() == (root / "docs" / "sql.md").read_text()
