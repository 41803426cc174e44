"""What a person set on the page: in their session, and in the address, which can be shared.

The address holds names, changes and the hash of the log: no prompt text and no path.
"""

from collections.abc import Sequence
from urllib.parse import urlencode

import streamlit as st

from cachecast.dashboard.page import Page
from cachecast.dashboard.what_if.draft import Draft, draft_of
from cachecast.dashboard.what_if.kept import Kept, from_address, to_address

PREFIX = "what-if "  # of the keys of the controls
# not a control's: they outlive the page
_DRAFT, _KEPT = "changes drafted", "scenarios kept"
_FOREIGN = "log of the link"


def draft() -> Draft:
    """The scenario in the controls: this session's, at first that of the address."""
    if _DRAFT not in st.session_state:
        st.session_state[_DRAFT] = draft_of(st.query_params.get("change", ""))
    found: Draft = st.session_state[_DRAFT]
    return found


def kept() -> tuple[Kept, ...]:
    """The scenarios that were kept, likewise."""
    if _KEPT not in st.session_state:
        st.session_state[_KEPT] = from_address(st.query_params.get_all("keep"))
    found: tuple[Kept, ...] = st.session_state[_KEPT]
    return found


def hold(draft: Draft) -> None:
    """What the controls say now."""
    st.session_state[_DRAFT] = draft


def hold_kept(kept: Sequence[Kept]) -> None:
    """The scenarios that are kept now."""
    st.session_state[_KEPT] = tuple(kept)


def take_over(draft: Draft) -> None:
    """Put a scenario into the controls, which are drawn anew for it."""
    hold(draft)
    for key in [key for key in st.session_state if str(key).startswith(PREFIX)]:
        del st.session_state[key]


def made_for_another_log(page: Page) -> bool:
    """Whether the address came from a page about another log."""
    if _DRAFT not in st.session_state:
        st.session_state[_FOREIGN] = st.query_params.get("log", page.opened.key)
    return bool(st.session_state.get(_FOREIGN, page.opened.key) != page.opened.key)


def write_address(page: Page) -> str:
    """Put it all into the address; the query, without the page."""
    values = {
        "log": page.opened.key,
        "as": page.scenario,
        "change": draft().text,
        "keep": to_address(kept()),
    }
    filled = {name: value for name, value in values.items() if value}
    for name in values:
        if name not in filled:
            st.query_params.pop(name, None)
    st.query_params.update(filled)
    return urlencode(filled, doseq=True)
