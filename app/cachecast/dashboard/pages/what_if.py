"""The page What-if."""

import streamlit as st

from cachecast.dashboard.page import Page
from cachecast.dashboard.states import empty


def show(page: Page) -> None:
    """Draw it."""
    st.header("What-if")
    empty("Nothing here yet", "This page is being built.")
