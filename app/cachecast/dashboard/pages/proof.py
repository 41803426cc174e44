"""The page Proof."""

import streamlit as st

from cachecast.dashboard.page import Page
from cachecast.dashboard.states import empty


def show(page: Page) -> None:
    """Draw it."""
    st.header("Proof")
    empty("Nothing here yet", "This page is being built.")
