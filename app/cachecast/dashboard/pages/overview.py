"""The page Overview: what was paid and saved, where it went, and what to look at first."""

from functools import partial
from shlex import quote

import streamlit as st

from cachecast.dashboard import overview_numbers as numbers
from cachecast.dashboard import wording
from cachecast.dashboard.drawn import draw
from cachecast.dashboard.page import Page
from cachecast.dashboard.questions.bill import BILL
from cachecast.dashboard.questions.run import RUN
from cachecast.dashboard.questions.trend import TREND
from cachecast.dashboard.questions.why import WHY
from cachecast.dashboard.run_check import bills_of_run
from cachecast.dashboard.run_scenario import choose_bill
from cachecast.dashboard.states import answer_or_stop, numbers_first, stop_with, when_done
from cachecast.dashboard.tile_row import panels, tile_row
from cachecast.dashboard.work import Answer


def show(page: Page) -> None:
    """Draw it: the bill first, then what takes longer."""
    st.header(wording.plain(page.opened.label))
    bill = _bill(page)
    _tiles(bill)
    numbers_first()
    st.subheader("Where the money and the tokens went")
    _classes(bill)
    if page.opened.log is not None:
        st.subheader("What to look at first")
        run = page.ask(RUN, page.scenario, behind=True)
        if page.opened.facts["evidence"] == "counts":
            st.caption("This log counts tokens: it does not say why any of them missed.")
        else:
            when_done(page.ask(WHY, page.scenario, behind=True), WHY.doing, _findings)
        st.subheader("Over time")
        when_done(run, RUN.doing, partial(_trend, page, bill))
    else:
        st.subheader("Over time")
        _trend(page, bill, {"path": str(page.opened.run)})
    _fine_print(page, bill)


def _bill(page: Page) -> Answer:
    """The bill that the page is about: asked for, or kept in the run that is open."""
    if page.opened.log is not None:
        st.caption(wording.plain(numbers.about(page.opened)))
        return answer_or_stop(page.ask(BILL, page.scenario), BILL.doing)
    found = bills_of_run(page.opened.facts)
    command = str(page.opened.facts.get("command"))
    if not found:
        stop_with("No bill in this run", f"It was written by {command}: see Own servers or SQL.")
    return choose_bill(found)


def _tiles(bill: Answer) -> None:
    tile_row(numbers.tiles(bill), "bill")
    for sentence in numbers.warnings(bill):
        st.warning(wording.plain(sentence), icon=":material/info:")


def _classes(bill: Answer) -> None:
    money, tokens = panels(2, "classes")
    for panel, rows, title in (
        (money, numbers.by_class(bill), "Charge by class"),
        (tokens, numbers.tokens_by_class(bill), "Tokens by class"),
    ):
        with panel:
            st.markdown(f"**{title}**")
            if rows:
                draw("classes.class_bars", rows, title, alt=title)
            else:
                st.caption("No request has a price under these rules.")


def _findings(why: Answer) -> None:
    found = numbers.findings(why)
    if not found:
        st.success("Nothing avoidable was missed.", icon=":material/check:")
        return
    with st.container(border=True):
        for number, sentence in enumerate(found, start=1):
            st.markdown(f"{number}. {sentence}")


def _trend(page: Page, bill: Answer, run: Answer) -> None:
    found = page.ask(TREND, run["path"], bill["name"])
    when_done(found, TREND.doing, partial(_over_time, page, bill))


def _over_time(page: Page, bill: Answer, trend: Answer) -> None:
    unit, charges, hits = trend["unit"], trend["charges"], trend["hits"]
    if not charges:
        st.caption("No request has a price under these rules.")
        return
    relative = page.opened.relative
    with st.container(border=True):
        currency = bill["charge"]["currency"]
        alt = f"Charge by class per {unit}"
        draw("classes.charge_over_time", charges, unit, currency, relative, alt=alt)
        alt = f"Prompt tokens read per {unit}"
        draw("classes.hits_over_time", hits, unit, relative, alt=alt)


def _fine_print(page: Page, bill: Answer) -> None:
    with st.expander("Assumptions, notes, and the same on the command line"):
        for sentence in (*bill["assumptions"], *page.opened.facts.get("warnings", ())):
            st.markdown(f"- {wording.plain(sentence)}")
        if page.opened.log is not None:
            source = quote(str(page.opened.source))
            command = f"cachecast bill {source} --as {quote(page.scenario)}"
            st.code(command, language="sh", wrap_lines=True)
