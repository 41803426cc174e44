"""The page Misses."""

import streamlit as st

from cachecast.dashboard.page import Page
from cachecast.dashboard.states import empty


def show(page: Page) -> None:
    """Draw it."""
    st.header("Misses")
    empty("Nothing here yet", "This page is being built.")
