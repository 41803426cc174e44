"""The chart of a query's result: one column against another."""

from typing import Final

import altair as alt

from cachecast.dashboard.charts import NUMBER, AnyChart
from cachecast.dashboard.sql_columns import Column
from cachecast.dashboard.theme import ACCENT, CLASS_COLOURS

MOST_BARS: Final = 60
_TYPE: Final = {"number": "Q", "time": "T", "text": "N"}


def result_chart(x: Column, y: Column) -> AnyChart:
    """Bars for names, a line for times, points for numbers, in the order of the rows."""
    rows = [
        {"x": left, "y": right}
        for left, right in zip(x.values.to_pylist(), y.values.to_pylist(), strict=True)
    ]
    if x.kind == "text":
        rows = rows[:MOST_BARS]
    # the fields have names of ours: a column's own may hold what Vega reads as a path
    chart = alt.Chart(alt.InlineData(values=rows)).encode(
        tooltip=[
            # a tooltip called `image` or `title` would be drawn as one
            alt.Tooltip(f"x:{_TYPE[x.kind]}", title=f"{x.name} (x)"),
            alt.Tooltip("y:Q", title=f"{y.name} (y)", format=",.6~r"),
        ]
    )
    number = alt.Axis(labelExpr=NUMBER, tickCount=6)
    colour = _colour(y.name)
    found: AnyChart
    if x.kind == "text":
        found = chart.mark_bar(color=colour, cornerRadiusEnd=2).encode(
            y=alt.Y("x:N", title=None, sort=None, axis=alt.Axis(labelLimit=240, labelFlush=False)),
            x=alt.X("y:Q", title=y.name, axis=number),
        )
    elif x.kind == "time":
        found = chart.mark_line(color=colour, point=True).encode(
            x=alt.X("utcyearmonthdatehoursminutes(x):T", title=f"{x.name}, UTC"),
            y=alt.Y("y:Q", title=y.name, axis=number),
        )
    else:
        found = chart.mark_circle(color=colour, size=50).encode(
            x=alt.X("x:Q", title=x.name), y=alt.Y("y:Q", title=y.name, axis=number)
        )
    return found


def _colour(name: str) -> str:
    """A class of tokens keeps its colour here too."""
    return CLASS_COLOURS.get(name.removeprefix("cache_"), ACCENT)
