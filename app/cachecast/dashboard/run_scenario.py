"""Which scenario of a run that is open the pages show: one for all pages, kept in the address."""

from collections.abc import Sequence

import streamlit as st

from cachecast.dashboard import address, wording
from cachecast.dashboard.work import Answer


def choose_bill(bills: Sequence[Answer]) -> Answer:
    """The bill of the scenario that the person chose, at first the run's first."""
    names = [bill["name"] for bill in bills]
    asked = address.one("bill")
    if asked is not None and asked not in names:
        st.info(f"The link names the scenario {wording.plain(asked)}, which this run has not.")
    at = names.index(asked) if asked in names else 0
    chosen = st.selectbox(
        "Scenario of the run", range(len(names)), index=at, format_func=names.__getitem__
    )
    place = at if chosen is None else chosen
    if place != at:
        address.put(bill=names[place])
    return bills[place]
