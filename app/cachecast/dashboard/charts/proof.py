"""Predicted against measured, request by request."""

from typing import Any

import altair as alt

from cachecast.dashboard.charts import AnyChart
from cachecast.dashboard.theme import CLASS_COLOURS, SERVER

Row = dict[str, Any]


def scatter(points: list[Row], name: str, floor_pct: float | None) -> AnyChart:
    """Both axes logarithmic; the line is where prediction and measurement agree, the band how far
    two replays are apart on average."""
    values = [value for point in points for value in (point["predicted"], point["measured"])]
    ends = [min(values) * 0.9, max(values) * 1.1]
    scale = alt.Scale(type="log", nice=False, domain=ends)
    axis = alt.Axis(format=",~r", tickCount=5, grid=False)
    line = [{"at": end} for end in ends]
    x, y = (
        alt.X("at:Q", scale=scale, title=f"measured {name}, ms", axis=axis),
        alt.Y("at:Q", scale=scale, title=f"predicted {name}, ms", axis=axis),
    )
    layers: list[alt.Chart] = []
    if floor_pct is not None:
        off = floor_pct / 100
        band = [
            row | {"low": row["at"] * max(0.01, 1 - off), "high": row["at"] * (1 + off)}
            for row in line
        ]
        layers.append(
            alt.Chart(alt.InlineData(values=band))
            .mark_area(opacity=0.25, color=CLASS_COLOURS["uncached"], clip=True)
            .encode(x=x, y=alt.Y("low:Q", scale=scale), y2="high:Q")
        )
    layers += [
        alt.Chart(alt.InlineData(values=line))
        .mark_line(color=CLASS_COLOURS["uncached"], strokeDash=[4, 3])
        .encode(x=x, y=y),
        alt.Chart(alt.InlineData(values=points))
        .mark_circle(color=SERVER, opacity=0.85, size=32)
        .encode(
            x=alt.X("measured:Q", scale=scale),
            y=alt.Y("predicted:Q", scale=scale),
            tooltip=[
                alt.Tooltip("id:N", title="request"),
                alt.Tooltip("measured:Q", title="measured, ms", format=",.4~r"),
                alt.Tooltip("predicted:Q", title="predicted, ms", format=",.4~r"),
            ],
        ),
    ]
    return alt.layer(*layers).properties(height=340)
