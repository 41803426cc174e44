"""Things side by side that wrap on a narrow screen: large numbers, and charts in frames."""

from collections.abc import Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from cachecast.dashboard.tile import Tile
from cachecast.dashboard.wording import plain


def tile_row(tiles: list[Tile], key: str) -> None:
    """A tile each; `key` is the row's own on its page."""
    with st.container(key=f"tiles-{key}"):
        for column, tile in zip(st.columns(len(tiles)), tiles, strict=True):
            with column.container(border=True, height="stretch"):
                st.metric(tile.label, tile.value, help=tile.help)
                if tile.below:
                    st.caption(plain(tile.below))


def panels(count: int, key: str) -> Sequence[DeltaGenerator]:
    """That many frames for charts, one below the other where each would be too narrow to read."""
    with st.container(key=f"panels-{key}"):
        columns = st.columns(max(1, count))
    return [column.container(border=True, height="stretch") for column in columns]
