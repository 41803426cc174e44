"""Charts in which each class of tokens has its colour."""

from typing import Any

import altair as alt

from cachecast.dashboard.charts import AnyChart
from cachecast.dashboard.theme import CLASS_COLOURS

Row = dict[str, Any]
_BAR = 30


def class_scale() -> alt.Scale:
    """The colour of each class, the same in every chart."""
    return alt.Scale(domain=list(CLASS_COLOURS), range=list(CLASS_COLOURS.values()))


def class_bars(rows: list[Row], title: str) -> AnyChart:
    """One bar a class, with its name before and its text and share behind it: no legend."""
    data = alt.InlineData(
        values=[row | {"label": f"{row['text']}  {row['share']}"} for row in rows]
    )
    most = max((row["amount"] for row in rows), default=1)
    base = alt.Chart(data).encode(
        y=alt.Y("class:N", sort=None, title=None, axis=alt.Axis(ticks=False, domain=False)),
        x=alt.X(
            "amount:Q", title=title, scale=alt.Scale(domain=[0, most * 1.5]), axis=None,
        ),
    )  # fmt: skip
    tooltip = [
        alt.Tooltip("class:N"), alt.Tooltip("text:N", title=title), alt.Tooltip("share:N"),
    ]  # fmt: skip
    bars = base.mark_bar(height=_BAR * 0.66, cornerRadiusEnd=2).encode(
        color=alt.Color("class:N", scale=class_scale(), legend=None), tooltip=tooltip
    )
    labels = base.mark_text(align="left", dx=6, fontSize=13).encode(text="label:N")
    return alt.layer(bars, labels).properties(height=_BAR * len(rows) + 12)


def charge_over_time(rows: list[Row], unit: str, currency: str, relative: bool) -> AnyChart:
    """Stacked charges by class for each hour or day."""
    found: AnyChart = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_bar()
        .encode(
            x=_time(unit, relative),
            y=alt.Y("sum(amount):Q", title=f"charge, {currency} per {unit}"),
            color=alt.Color(
                "class:N", scale=class_scale(), legend=alt.Legend(orient="top", title=None),
            ),
            tooltip=[
                alt.Tooltip("at:T", title=unit, format="%d %b %H:%M", formatType="utc"),
                alt.Tooltip("class:N"),
                alt.Tooltip("amount:Q", title=currency, format=",.4~r"),
            ],
        )
        .properties(height=220)
    )  # fmt: skip
    return found


def hits_over_time(rows: list[Row], unit: str, relative: bool) -> AnyChart:
    """The share of prompt tokens that were read, for each hour or day."""
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        x=_time(unit, relative),
        y=alt.Y(
            "ratio:Q", title="prompt tokens read", axis=alt.Axis(format="%"),
            scale=alt.Scale(domain=[0, 1]),
        ),
        tooltip=[
            alt.Tooltip("at:T", title=unit, format="%d %b %H:%M", formatType="utc"),
            alt.Tooltip("ratio:Q", title="read", format=".1%"),
            alt.Tooltip("requests:Q", format=","),
        ],
    )  # fmt: skip
    colour = CLASS_COLOURS["read"]
    line = base.mark_line(color=colour, interpolate="monotone")
    points = base.mark_circle(color=colour, size=36)
    return alt.layer(line, points).properties(height=150)


def _time(unit: str, relative: bool) -> alt.X:
    """The time axis; a log of relative times counts its hours from its own zero."""
    step = f"utc{'yearmonthdatehours' if unit == 'hour' else 'yearmonthdate'}"
    if not relative:
        return alt.X(f"{step}(at):T", title=f"{unit} of arrival, UTC")
    milliseconds = 3_600_000 if unit == "hour" else 86_400_000
    label = f"format(datum.value / {milliseconds}, 'd')"
    axis = alt.Axis(labelExpr=label)
    return alt.X(f"{step}(at):T", title=f"{unit}s from the log's zero", axis=axis)
