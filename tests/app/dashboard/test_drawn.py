"""A chart is made once and is the one that Altair would give."""

import json
from typing import Any

import altair as alt
import pytest
import streamlit

from cachecast.dashboard import drawn
from cachecast.dashboard.charts import classes

ROWS = [
    {"class": "read", "amount": 3.0, "text": "$3.00", "share": "75.0 %"},
    {"class": "output", "amount": 1.0, "text": "$1.00", "share": "25.0 %"},
]


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[tuple[dict[str, Any], str]]:
    """What was put on the page: specs and alternative texts."""
    found: list[tuple[dict[str, Any], str]] = []

    def chart(spec: dict[str, Any], *, width: str, alt: str) -> None:
        found.append((dict(spec), alt))
        spec.clear()  # Streamlit takes specs apart

    monkeypatch.setattr(streamlit, "vega_lite_chart", chart)
    drawn._spec.cache_clear()
    return found


def test_it_is_the_chart_without_a_theme_of_altairs() -> None:
    drawn._spec.cache_clear()
    text = drawn._spec("classes.class_bars", json.dumps([ROWS, "Charge by class"]))

    with alt.theme.enable("none"):
        assert json.loads(text) == classes.class_bars(ROWS, "Charge by class").to_dict()
    assert "config" not in json.loads(text)


def test_the_same_rows_are_drawn_without_making_the_chart_again(
    shown: list[tuple[dict[str, Any], str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn.draw("classes.class_bars", ROWS, "Charge by class", alt="Charge")
    monkeypatch.setattr(classes, "class_bars", None)

    drawn.draw("classes.class_bars", ROWS, "Charge by class", alt="Charge")
    (first, _), (second, said) = shown
    assert (second, said) == (first, "Charge")
    assert second["layer"]
    with pytest.raises(TypeError):
        drawn.draw("classes.class_bars", ROWS[:1], "Charge by class", alt="Charge")
