"""Large numbers side by side, which wrap on a narrow screen."""

import streamlit as st

from cachecast.dashboard.overview_numbers import Tile
from cachecast.dashboard.wording import plain


def tile_row(tiles: list[Tile], key: str) -> None:
    """A tile each; `key` is the row's own on its page."""
    with st.container(key=f"tiles-{key}"):
        for column, tile in zip(st.columns(len(tiles)), tiles, strict=True):
            with column.container(border=True, height="stretch"):
                st.metric(tile.label, tile.value, help=tile.help)
                if tile.below:
                    st.caption(plain(tile.below))
