"""The page Overview: what was paid and saved, where it went, and what to look at first."""

import streamlit as st

from cachecast.dashboard import overview_numbers as numbers
from cachecast.dashboard import wording
from cachecast.dashboard.page import Page
from cachecast.dashboard.questions.bill import BILL
from cachecast.dashboard.states import answer_or_stop
from cachecast.dashboard.work import Answer


def show(page: Page) -> None:
    """Draw it: the bill first, then what takes longer."""
    st.header(wording.plain(page.opened.label))
    if page.opened.log is not None:
        st.caption(wording.plain(numbers.about(page.opened)))
    bill = answer_or_stop(page.ask(BILL, page.scenario), BILL.doing)
    _tiles(bill)


def _tiles(bill: Answer) -> None:
    found = numbers.tiles(bill)
    for column, tile in zip(st.columns(len(found)), found, strict=True):
        with column.container(border=True, height="stretch"):
            st.metric(tile.label, tile.value, help=tile.help)
            if tile.below:
                st.caption(wording.plain(tile.below))
