"""The page SQL: a person's own questions to the run, in DuckDB."""

from functools import partial
from pathlib import Path
from shlex import quote
from uuid import uuid4

import streamlit as st

from cachecast.dashboard import sql_query, wording
from cachecast.dashboard.page import Page
from cachecast.dashboard.questions.run import RUN
from cachecast.dashboard.sql_columns import Column, columns, table
from cachecast.dashboard.states import empty, when_done
from cachecast.dashboard.work import Answer
from cachecast.results.views import VIEWS

_ASKED = "sql asked"  # (query, how many were asked before it): widgets forget, the session does not
_QUERY = "sql query"
# what is asked at first, by what there is to ask: a result and a chart that say something
_WHERE_IT_WENT = (
    "SELECT reason, cost, tokens, requests, avoidable\nFROM by_reason\n"
    "ORDER BY cost DESC NULLS LAST"
)
_BY_MODEL = "SELECT model, charge, requests, prompt_tokens\nFROM by_model\nORDER BY charge DESC"
_BY_SCENARIO = VIEWS["by_scenario"].example
_OF_FLEET = (
    "SELECT 'server ' || server AS server, count(*) AS requests, avg(ttft_s) AS ttft_s,\n"
    "  sum(hit_tokens) / sum(prompt_tokens) AS hits\nFROM served\nGROUP BY ALL\nORDER BY ALL"
)
_OF_REPLAY = "SELECT request_id, ttft_s, hit_tokens\nFROM measured\nORDER BY ttft_s DESC\nLIMIT 20"


def show(page: Page) -> None:
    """Draw it."""
    st.header("SQL")
    st.caption(
        "Your own questions to this run, in DuckDB’s SQL. It can only read the run: no files, no "
        f"network, {sql_query.LIMIT_S} s and {sql_query.MEMORY_MIB} MiB a query."
    )
    if page.opened.run is not None:
        _ask(page, {"path": str(page.opened.run)})
    else:
        when_done(page.ask(RUN, page.scenario), RUN.doing, partial(_ask, page))


def _ask(page: Page, run: Answer) -> None:
    path = Path(run["path"])
    query, number = _editor(_first(page))
    _documentation()
    if not query.strip():
        empty("No query yet", "Write one above, or choose an example.")
        return
    workshop = page.answers.workshop
    me = st.session_state.setdefault("sql session", uuid4().hex)
    workshop.drop(("sql", me, number - 1, path))  # a result may be large
    work = workshop.start(
        ("sql", me, number, path), lambda report: sql_query.ask(path, query, report)
    )
    when_done(work, "Asking", partial(_result, path, query, number), patience_s=1.0)


def _first(page: Page) -> str:
    """The first question to what is open."""
    facts = page.opened.facts
    if page.opened.log is not None:
        return _BY_MODEL if facts["evidence"] == "counts" else _WHERE_IT_WENT
    if facts.get("scenarios"):
        return _WHERE_IT_WENT if len(facts["scenarios"]) == 1 else _BY_SCENARIO
    return _OF_REPLAY if facts.get("command") == "replay" else _OF_FLEET


def _editor(first: str) -> tuple[str, int]:
    """The query that was last run, and its number."""
    asked: tuple[str, int] = st.session_state.setdefault(_ASKED, (first, 0))
    if _QUERY not in st.session_state:
        st.session_state[_QUERY] = asked[0]
    examples = {name: f"{name}: {view.meaning}" for name, view in VIEWS.items()}
    st.selectbox(
        "Examples", list(examples), index=None, format_func=examples.__getitem__,
        key="sql example", on_change=_take_example, placeholder="Choose one to put it below",
    )  # fmt: skip
    with st.form("sql", border=False):
        query = st.text_area("Query", key=_QUERY, height=130)
        ran = st.form_submit_button("Run", icon=":material/play_arrow:", type="primary")
    if ran:
        asked = st.session_state[_ASKED] = (query, asked[1] + 1)
    return asked


def _take_example() -> None:
    chosen = st.session_state["sql example"]
    if chosen is not None:
        example = VIEWS[chosen].example
        st.session_state[_QUERY] = example
        st.session_state[_ASKED] = (example, st.session_state[_ASKED][1] + 1)


def _documentation() -> None:
    with st.expander("Tables, views and their columns"):
        for name, view in VIEWS.items():
            rows = "\n".join(
                f"| `{column}` | {wording.plain(meaning)} |"
                for column, meaning in view.columns.items()
            )
            st.markdown(
                f"**{name}**: {wording.plain(view.meaning)}\n\n| column | meaning |\n|---|---|\n"
                + rows
            )


def _result(path: Path, query: str, number: int, answer: Answer) -> None:
    if not answer["rows"]:
        empty("No rows", "The query ran and found nothing.")
        return
    found = columns(answer["names"], answer["rows"])
    said, button = st.columns([4, 1], vertical_alignment="center")
    said.caption(_counted(path, query, answer))
    button.download_button(
        "CSV", answer["csv"], "result.csv", "text/csv", icon=":material/download:",
        width="stretch", on_click="ignore",
    )  # fmt: skip
    decimals = {
        column.name: st.column_config.NumberColumn(format="%.10g")  # never 0.00 for a real amount
        for column in found
        if str(column.values.type) == "double"
    }
    st.dataframe(table(found), hide_index=True, column_config=decimals, placeholder="NULL")
    _chart(found, number)


def _counted(path: Path, query: str, answer: Answer) -> str:
    count = wording.counted(answer["count"], "row")
    if answer["more"]:
        command = wording.plain(f"cachecast sql {quote(str(path))} {quote(query)} --csv")
        return f"The first {count}; all of them with: {command}"
    if answer["count"] > len(answer["rows"]):
        shown = wording.tokens(len(answer["rows"]))
        return f"{count}; the first {shown} are shown, the download has all"
    return count


def _chart(found: list[Column], number: int) -> None:
    numbers = [column for column in found if column.kind == "number"]
    if not numbers or len(found) < 2:
        st.caption("A chart needs a column of numbers and another one.")
        return
    from cachecast.dashboard.charts.result import result_chart

    others = [column for column in found if column.kind != "number"] or found[:1]
    x_at, y_at = found.index(others[0]), found.index(next(c for c in numbers if c != others[0]))
    left, right = st.columns(2)
    names = [column.name for column in found]
    x = left.selectbox(
        "Along", range(len(found)), x_at, format_func=names.__getitem__, key=f"along {number}",
        persist_state="session",
    )  # fmt: skip
    places = [place for place, column in enumerate(found) if column.kind == "number"]
    y = right.selectbox(
        "Value", places, places.index(y_at), format_func=names.__getitem__, key=f"value {number}",
        persist_state="session",
    )  # fmt: skip
    chart = result_chart(found[x], found[y])
    st.altair_chart(chart, width="stretch", alt=f"{names[y]} by {names[x]}")
