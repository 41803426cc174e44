"""The page Own servers."""

import streamlit as st

from cachecast.dashboard.page import Page
from cachecast.dashboard.states import empty


def show(page: Page) -> None:
    """Draw it."""
    st.header("Own servers")
    empty("Nothing here yet", "This page is being built.")
