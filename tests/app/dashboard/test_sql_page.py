"""The page SQL: it asks only the run, ends in time, and shows cells as what they are."""

import threading
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from cachecast.dashboard import sql_query
from cachecast.dashboard.answers import Answers
from cachecast.dashboard.charts.result import result_chart
from cachecast.dashboard.sql_columns import columns
from cachecast.dashboard.work import Workshop
from cachecast_datasets.errors import BadInput

OpenApp = Callable[..., AppTest]
Settle = Callable[[AppTest], AppTest]
_FOREVER = "SELECT count(*) FROM range(10_000_000) a, range(10_000_000) b WHERE a.range = -b.range"


def quiet(what: str, done: int, total: int) -> None:
    """Nobody looks at the progress."""


def test_a_result_has_names_rows_and_exact_csv(bill_run: Path) -> None:
    query = "SELECT charge, scenario AS s FROM by_scenario WHERE scenario = 'a'"

    answer = sql_query.ask(bill_run, query, quiet)
    assert answer["names"] == ["charge", "s"]
    assert answer["rows"] == [(Decimal("9000000.000000000003"), "a")]
    assert answer["csv"] == "charge,s\n9000000.000000000003,a\n"
    assert (answer["count"], answer["more"]) == (1, False)


@pytest.mark.parametrize(("beyond", "more"), [(0, False), (1, True)])
def test_a_long_result_is_cut_and_says_so(bill_run: Path, beyond: int, more: bool) -> None:
    answer = sql_query.ask(bill_run, f"FROM range({sql_query.KEPT_ROWS + beyond})", quiet)

    assert answer["count"] == sql_query.KEPT_ROWS
    assert len(answer["rows"]) == sql_query.SHOWN_ROWS
    assert answer["csv"].count("\n") == 1 + sql_query.KEPT_ROWS
    assert answer["more"] is more


def test_a_query_that_takes_too_long_is_stopped(bill_run: Path) -> None:
    with pytest.raises(BadInput, match=r"^SQL: no answer within 0.2 s; the query was stopped$"):
        sql_query.ask(bill_run, _FOREVER, quiet, limit_s=0.2)


def test_a_query_that_is_cancelled_stops(bill_run: Path) -> None:
    workshop = Workshop()
    begun = threading.Event()

    def ask(report: object) -> dict[str, object]:
        assert callable(report)

        def told(what: str, done: int, total: int) -> None:
            begun.set()
            report(what, done, total)

        return sql_query.ask(bill_run, _FOREVER, told, limit_s=600)

    work = workshop.start("query", ask)
    assert begun.wait(60)
    work.cancel()

    assert work.wait(60)
    assert work.state == "cancelled"
    assert not [thread for thread in threading.enumerate() if thread.name == "sql"]


def test_a_query_cannot_take_all_memory(bill_run: Path) -> None:
    query = "SELECT list(range) FROM range(100_000_000)"  # 8 bytes each

    with pytest.raises(BadInput, match="SQL: Out of Memory Error"):
        sql_query.ask(bill_run, query, quiet, limit_s=600)


@pytest.mark.parametrize(
    "query",
    [
        "COPY ledger TO '{folder}/out.csv'",
        "SELECT * FROM read_csv('{folder}/secret.csv')",
        "SET memory_limit = '100GiB'",
        "INSTALL httpfs",
        "ATTACH '{folder}/out.db'",
    ],
)
def test_a_query_that_reaches_out_of_the_run_is_refused_in_a_sentence(
    open_app: OpenApp, settle: Settle, bill_run: Path, tmp_path: Path, query: str
) -> None:
    (tmp_path / "secret.csv").write_text("secret\n")
    app = open_app(bill_run, page="sql")

    app.text_area[0].set_value(query.format(folder=tmp_path))
    app.button(key="FormSubmitter:sql-Run").click()
    settle(app)
    (error,) = app.error
    assert error.value.startswith("SQL")
    assert "\n" not in error.value
    assert "secret\n" not in error.value
    assert not app.exception
    assert not app.dataframe
    assert not list(tmp_path.glob("out.*"))


def test_the_page_shows_the_first_question_answered_and_an_example_on_request(
    open_app: OpenApp, settle: Settle, bill_run: Path
) -> None:
    app = open_app(bill_run, page="sql")
    assert set(app.dataframe[0].value["scenario"]) == {"a", "b"}

    app.selectbox(key="sql example").set_value("by_reason")
    settle(app)
    assert (app.text_area[0].value or "").startswith("SELECT reason")
    assert "ttl_expired" in app.dataframe[0].value["reason"].tolist()


def test_the_run_of_a_log_can_be_asked_too(
    open_app: OpenApp, settle: Settle, answers: Answers
) -> None:
    from cachecast.dashboard.opened import example_path

    app = open_app(example_path(), page="sql", scenario="claude-opus-5")

    dearest = app.dataframe[0].value.iloc[0]
    assert (dearest["reason"], dearest["requests"]) == ("volatile_value", 14)


def test_columns_are_numbers_only_where_a_browser_holds_them() -> None:
    """Decimals are floats on screen; whole numbers beyond 2**53 and everything else are text."""
    names = ["int", "large", "decimal", "flag", "text", "list", "null"]
    rows = [(1, 2**64 - 1, Decimal("0.5"), True, "<b>x</b>", [1, 2], None), (None,) * 7]

    found = columns(names, rows)
    assert [(column.kind, column.values.to_pylist()) for column in found] == [
        ("number", [1, None]),
        ("text", ["18446744073709551615", None]),
        ("number", [0.5, None]),
        ("text", [True, None]),
        ("text", ["<b>x</b>", None]),
        ("text", ["[1, 2]", None]),
        ("text", [None, None]),
    ]


def test_a_chart_reads_no_path_and_no_picture_out_of_a_name() -> None:
    """A field `a[0].b` is a path to Vega, and a tooltip called `image` is drawn as one."""
    x, y = columns(["image", "a[0].b"], [("https://example.com/x.png", 1), ("b", 2)])

    made = result_chart(x, y).to_dict()
    assert {entry["field"] for entry in made["encoding"]["tooltip"]} == {"x", "y"}
    assert [entry["title"] for entry in made["encoding"]["tooltip"]] == ["image (x)", "a[0].b (y)"]
    assert made["encoding"]["x"]["title"] == "a[0].b"
