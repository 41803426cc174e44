"""The address of the page: what a person chose, for a reload, a link and the way back.

It names models, changes, sessions and hashes: no path, no query, no text of a prompt. All pages
have the same one, so that a reload of one loses nothing that was chosen on another.
"""

from collections.abc import Sequence
from urllib.parse import urlencode

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

# the log's hash, the scenario, the one of a run, a session of the log, changes, kept scenarios and
# the form of a fleet
NAMES = ("log", "as", "bill", "session", "change", "keep", "fleet")
_CHOSEN = "what the address says"  # in the session
Choices = dict[str, list[str]]


def read() -> None:
    """Take over what the address says: of a new page, or one to which somebody went back.

    Any other run of the script is behind a click, and the browser may not yet show what the last
    one wrote.
    """
    if _CHOSEN not in st.session_state:
        st.session_state[_CHOSEN] = _shown()
    elif _went_back() and (found := _shown()):  # the page's first address of all is empty
        st.session_state[_CHOSEN] = found


def one(name: str) -> str | None:
    """What is chosen under a name; None for nothing."""
    return next(iter(several(name)), None)


def several(name: str) -> list[str]:
    """All that is chosen under a name."""
    assert name in NAMES, name
    return _chosen().get(name, [])


def put(**values: str | Sequence[str] | None) -> None:
    """Choose; None and nothing at all leave the address. One step back leads to what was before."""
    found = _chosen() | {
        name: [value] if isinstance(value, str) else list(value or ())
        for name, value in values.items()
    }
    # in one order: the same choice is the same address
    st.session_state[_CHOSEN] = {name: found[name] for name in NAMES if found.get(name)}
    if _shown() != _chosen():
        st.query_params.from_dict(_chosen())


def query() -> str:
    """All of it, behind the `?` of a link."""
    return urlencode(_chosen(), doseq=True)


def choices() -> Choices:
    """All of it, for a link to another page."""
    return {name: list(values) for name, values in _chosen().items()}


def _chosen() -> Choices:
    found: Choices = st.session_state.get(_CHOSEN, {})
    return found


def _shown() -> Choices:
    """What the browser shows, in our order."""
    found = {name: st.query_params.get_all(name) for name in NAMES}
    return {name: values for name, values in found.items() if values}


def _went_back() -> bool:
    """Whether the browser's own history led here."""
    context = get_script_run_ctx()
    return bool(getattr(context, "is_history_navigation", False))  # of Streamlit's inner side
