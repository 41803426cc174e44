"""The page Misses: why prompt tokens were not read, when, and in which session, to the block."""

from collections.abc import Sequence
from pathlib import Path
from shlex import quote

import streamlit as st

from cachecast.dashboard import misses_numbers as numbers
from cachecast.dashboard import session_table, session_view, wording
from cachecast.dashboard.miss_rows import Row, misses_by_hour, misses_of_ribbons
from cachecast.dashboard.page import Page
from cachecast.dashboard.questions.why import WHY
from cachecast.dashboard.run_check import bills_of_run
from cachecast.dashboard.run_scenario import choose_bill
from cachecast.dashboard.states import answer_or_stop, empty, stop_with
from cachecast.dashboard.work import Answer


def show(page: Page) -> None:
    """Draw it: reasons and hours of the whole log, then one session."""
    st.header("Misses")
    if page.opened.log is None:
        _of_run(page)
        return
    if page.opened.facts["evidence"] == "counts":
        stop_with(
            "This log does not say why",
            "It has counts only: why a prompt token was not read needs a log with prompts, token "
            "blocks or token ids. Overview prices the usage that it reports.",
        )
    why = answer_or_stop(page.ask(WHY, page.scenario), WHY.doing)
    _reasons(why)
    st.subheader("When it was lost")
    _hours(page, why, misses_of_ribbons(Path(why["path"])))
    st.subheader("Session by session")
    chosen = session_table.choose(why)
    if chosen is not None:
        session_view.show(page, why, chosen)
    _fine_print(page, why)


def _of_run(page: Page) -> None:
    """A run knows reasons and hours; prompts lie in the log only."""
    found = bills_of_run(page.opened.facts)
    if not found:
        command = str(page.opened.facts.get("command"))
        stop_with("No bill in this run", f"It was written by {command}: see Own servers or SQL.")
    bill = choose_bill(found)
    _reasons(bill)
    st.subheader("When it was lost")
    assert page.opened.run is not None
    _hours(page, bill, misses_by_hour(page.opened.run, bill["name"]))
    empty(
        "No prompts in a run",
        "A run keeps no prompts. Open the log itself to see its sessions block by block.",
    )


def _reasons(answer: Answer) -> None:
    from cachecast.dashboard.charts.misses import reason_bars  # after the numbers are on screen

    rows = numbers.reasons(answer)
    if not rows:
        empty(
            "Nothing was missed", "Every prompt token was read from the cache.", ":material/check:"
        )
        return
    st.markdown(f"##### {wording.plain(numbers.headline(answer))}")
    currency = numbers.currency_of(answer)
    what = "tokens that were not read" if currency is None else "cost above the read price"
    with st.container(border=True):
        st.markdown(f"**Why prompt tokens were not read**: {what}, share of the charge")
        title = what if currency is None else f"{what}, {currency}"
        st.altair_chart(reason_bars(rows, title), width="stretch", alt="Reasons by money")


def _hours(page: Page, answer: Answer, rows: Sequence[Row]) -> None:
    from cachecast.dashboard.charts.misses import heat_map

    if not rows:
        st.caption("Nothing was missed.")
        return
    currency = numbers.currency_of(answer)
    with st.container(border=True):
        choice = st.selectbox(
            "Hours that lost to", numbers.heat_choices(rows), format_func=wording.words,
            width=280, key="hours that lost to", persist_state="session",
        )  # fmt: skip
        cells = numbers.heat(rows, choice, currency, page.opened.relative)
        lost = "tokens not read an hour" if currency is None else f"{currency} lost an hour"
        if cells:
            chart = heat_map(cells, lost, page.opened.relative)
            st.altair_chart(chart, width="stretch", alt=f"{lost}, by day and hour")


def _fine_print(page: Page, why: Answer) -> None:
    with st.expander("Assumptions, notes, and the same on the command line"):
        for sentence in (*why["assumptions"], *page.opened.facts.get("warnings", ())):
            st.markdown(f"- {wording.plain(sentence)}")
        command = f"cachecast why {quote(str(page.opened.source))} --as {quote(page.scenario)}"
        st.code(command, language="sh", wrap_lines=True)
