"""Charts in which each class of tokens has its colour."""

from typing import Any

import altair as alt

from cachecast.dashboard.charts import AnyChart
from cachecast.dashboard.theme import CLASS_COLOURS, LABEL

Row = dict[str, Any]
_BAR = 30
_STEPS = {
    "minute": ("utcyearmonthdatehoursminutes", 60_000, "%H:%M"),
    "hour": ("utcyearmonthdatehours", 3_600_000, "%-d %b %H:%M"),
    "day": ("utcyearmonthdate", 86_400_000, "%-d %b"),
}


def class_scale(rows: list[Row] | None = None) -> alt.Scale:
    """The colour of each class, the same in every chart; of those in `rows`, for a legend."""
    found = [
        name for name in CLASS_COLOURS if rows is None or any(r["class"] == name for r in rows)
    ]
    return alt.Scale(domain=found, range=[CLASS_COLOURS[name] for name in found])


def class_bars(rows: list[Row], title: str) -> AnyChart:
    """One bar a class, with its name before and its text and share behind it: no legend."""
    data = alt.InlineData(
        values=[row | {"label": f"{row['text']} · {row['share']}"} for row in rows]
    )
    most = max((row["amount"] for row in rows), default=1)
    base = alt.Chart(data).encode(
        y=alt.Y("class:N", sort=None, title=None, axis=alt.Axis(ticks=False, domain=False)),
        x=alt.X(
            "amount:Q", title=title, scale=alt.Scale(domain=[0, most * 2]), axis=None,
        ),
    )  # fmt: skip
    tooltip = [
        alt.Tooltip("class:N"), alt.Tooltip("text:N", title=title), alt.Tooltip("share:N"),
    ]  # fmt: skip
    bars = base.mark_bar(height=_BAR * 0.66, cornerRadiusEnd=2).encode(
        color=alt.Color("class:N", scale=class_scale(), legend=None), tooltip=tooltip
    )
    labels = base.mark_text(align="left", dx=6, fontSize=13, color=LABEL).encode(text="label:N")
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
                "class:N", scale=class_scale(rows), legend=alt.Legend(orient="top", title=None),
            ),
            tooltip=[
                alt.Tooltip("at:T", title=unit, format="%d %b %H:%M", formatType="utc"),
                alt.Tooltip("class:N"),
                alt.Tooltip("amount:Q", title=currency, format=",.4~r"),
            ],
        )
        .properties(height=240)
    )  # fmt: skip
    return found


def hits_over_time(rows: list[Row], unit: str, relative: bool) -> AnyChart:
    """The share of prompt tokens that were read, for each hour or day."""
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        x=_time(unit, relative),
        y=alt.Y(
            "ratio:Q", title="tokens read", axis=alt.Axis(format="%"),
            scale=alt.Scale(domain=[0, 1]),
        ),
        tooltip=[
            alt.Tooltip("at:T", title=unit, format="%d %b %H:%M", formatType="utc"),
            alt.Tooltip("ratio:Q", title="read", format=".1%"),
            alt.Tooltip("requests:Q", format=","),
        ],
    )  # fmt: skip
    colour = CLASS_COLOURS["read"]
    line = base.mark_line(color=colour)
    points = base.mark_circle(color=colour, size=36)
    return alt.layer(line, points).properties(height=190)


def _time(unit: str, relative: bool) -> alt.X:
    """The time axis; a log of relative times counts its hours from its own zero."""
    step, milliseconds, format = _STEPS[unit]
    if not relative:
        axis = alt.Axis(format=format, labelOverlap=True)
        return alt.X(f"{step}(at):T", title=f"{unit} of arrival, UTC", axis=axis)
    axis = alt.Axis(
        labelExpr=f"format(datum.value / {milliseconds}, 'd')", tickMinStep=milliseconds,
        labelOverlap=True,
    )  # fmt: skip
    return alt.X(f"{step}(at):T", title=f"{unit}s from the log's zero", axis=axis)
