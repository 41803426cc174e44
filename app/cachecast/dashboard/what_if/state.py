"""What a person set on the page: it stands in the address, which can be shared.

The address holds names, changes and the hash of the log: no prompt text and no path.
"""

from collections.abc import Sequence

import streamlit as st

from cachecast.dashboard import address
from cachecast.dashboard.what_if.draft import Draft, draft_of
from cachecast.dashboard.what_if.kept import Kept, from_address, to_address

PREFIX = "what-if "  # of the keys of the controls
_DRAFT = "changes drafted"  # not a control's: it outlives the page


def draft() -> Draft:
    """The scenario in the controls, which are drawn anew where the address has another one."""
    text = address.one("change") or ""
    held: Draft | None = st.session_state.get(_DRAFT)
    if held is None or held.text != text:
        held = draft_of(text)
        take_over(held)
    return held


def kept() -> tuple[Kept, ...]:
    """The scenarios that were kept."""
    return from_address(address.several("keep"))


def hold(draft: Draft) -> None:
    """What the controls say now."""
    st.session_state[_DRAFT] = draft
    address.put(change=draft.text or None)


def hold_kept(kept: Sequence[Kept]) -> None:
    """The scenarios that are kept now."""
    address.put(keep=to_address(kept))


def take_over(draft: Draft) -> None:
    """Put a scenario into the controls, which are drawn anew for it."""
    for key in [key for key in st.session_state if str(key).startswith(PREFIX)]:
        del st.session_state[key]
    hold(draft)
