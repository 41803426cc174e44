"""Charts on a page, each made once: Altair checks a chart for longer than a page may take."""

import json
from functools import lru_cache
from importlib import import_module
from typing import Any

import streamlit as st

_REMEMBERED = 64


def draw(chart: str, *arguments: Any, alt: str) -> None:
    """The chart of that function (`classes.class_bars`) with those arguments, plain JSON values.

    `alt` is read to those who do not see it.
    """
    spec = json.loads(_spec(chart, json.dumps(arguments)))
    st.vega_lite_chart(spec, width="stretch", alt=alt)


@lru_cache(maxsize=_REMEMBERED)
def _spec(chart: str, arguments: str) -> str:
    """The Vega-Lite text of a chart, without Altair's theme: Streamlit has its own."""
    import altair

    module, function = chart.split(".")
    make = getattr(import_module(f"cachecast.dashboard.charts.{module}"), function)
    with altair.theme.enable("none"):
        return json.dumps(make(*json.loads(arguments)).to_dict())
