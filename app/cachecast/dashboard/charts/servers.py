"""Charts of a fleet: latencies, queues and blocks over time, misses, costs."""

from typing import Any

import altair as alt

from cachecast.dashboard.charts import NUMBER, AnyChart, fading
from cachecast.dashboard.theme import CLASS_COLOURS, LABEL, SERVER, TOTAL

Row = dict[str, Any]
_BAR = 30
_COSTS = {"servers": SERVER, "API": TOTAL}
_LANE = 58  # height of one server over time
_AXIS = 30  # below the lanes
_MOST_LANES = 4  # more servers are rows of a heat map


def distribution(curve: list[Row], marks: list[Row], what: str, of: str) -> AnyChart:
    """Which share waited at most so long: the whole distribution, its quantiles named."""
    times = [row["ms"] for row in curve]
    # room at the right for the names of the quantiles
    domain = [times[0], max(times[-1], 1.6 * marks[-1]["ms"])]
    x = alt.X(
        "ms:Q", title=f"{what}, ms", scale=alt.Scale(type="log", nice=False, domain=domain),
        axis=alt.Axis(labelExpr=_PLAIN_LOG, grid=False),
    )  # fmt: skip
    y = alt.Y(
        "share:Q", title=f"share of {of}", scale=alt.Scale(domain=[0, 1.08]),
        axis=alt.Axis(format="%", values=[0, 0.25, 0.5, 0.75, 1]),
    )  # fmt: skip
    line = alt.Chart(alt.InlineData(values=curve)).mark_line(color=SERVER, strokeWidth=2)
    tooltip = [
        alt.Tooltip("ms:Q", title=f"{what}, ms", format=",.4~r"),
        alt.Tooltip("share:Q", title=f"of {of}", format=".1%"),
    ]
    base = alt.Chart(alt.InlineData(values=marks)).encode(x=x, y=y)
    points = base.mark_point(color=SERVER, filled=True, size=60, opacity=1)
    # the curve goes up to the right: below it is free, and above it at the last quantile
    below = base.transform_filter("datum.share < 0.95").mark_text(
        color=LABEL, align="left", dx=7, dy=11
    )
    above = base.transform_filter("datum.share > 0.95").mark_text(
        color=LABEL, align="left", dx=2, dy=-11
    )
    return alt.layer(
        line.encode(x=x, y=y, tooltip=tooltip), points.encode(tooltip=tooltip),
        below.encode(text="text:N"), above.encode(text="text:N"),
    ).properties(height=240)  # fmt: skip


# 1, 2 and 5 of each power of ten, written out
_PLAIN_LOG = (
    "indexof(['1','2','5'], replace(format(datum.value, '.0e'), /e.*/, '')) >= 0 "
    "? format(datum.value, ',~r') : ''"
)


def timeline(rows: list[Row], field: str, title: str, unit: str) -> AnyChart:
    """One lane for each server, all on one scale, whose top is the largest value of all."""
    servers = sorted({row["server"] for row in rows})
    if len(servers) > _MOST_LANES:
        return _heat_map(rows, field, title, unit, len(servers))
    top = max(1, max((row[field] for row in rows), default=0))
    lanes = {server: len(servers) - 1 - place for place, server in enumerate(servers)}
    ends = [
        max((row for row in rows if row["server"] == server), key=lambda row: row["at"])
        for server in servers
    ]  # an interval lasts until its end, the last one too
    values = [
        {
            "server": row["server"], "at": row["at"], "value": row[field],
            "low": lanes[row["server"]], "high": lanes[row["server"]] + 0.7 * row[field] / top,
        }
        for row in [*rows, *(row | {"at": row["to"]} for row in ends)]
    ]  # fmt: skip
    peaks = [
        {
            "lane": lane, "top": lane + 0.97,
            "text": f"server {server}: at most "
            f"{max(row[field] for row in rows if row['server'] == server):,}",
        }
        for server, lane in lanes.items()
    ]  # fmt: skip
    base = alt.Chart(alt.InlineData(values=values)).encode(
        x=alt.X("at:Q", title=f"{unit} since the first step", scale=alt.Scale(nice=False)),
        y=alt.Y("low:Q", axis=None, scale=alt.Scale(domain=[0, len(servers)], nice=False)),
        y2="high:Q", detail="server:N",
        tooltip=[
            alt.Tooltip("server:O"), alt.Tooltip("at:Q", title=unit, format=",.3~r"),
            alt.Tooltip("value:Q", title=title, format=","),
        ],
    )  # fmt: skip
    edge = {"color": SERVER, "strokeWidth": 1}  # what is shorter than a pixel is seen too
    areas = base.mark_area(color=SERVER, opacity=0.8, interpolate="step-after", line=edge)
    named = alt.Chart(alt.InlineData(values=peaks)).encode(y="lane:Q")
    floors = named.mark_rule(color=CLASS_COLOURS["uncached"], opacity=0.5)
    texts = named.mark_text(color=LABEL, align="left", baseline="top", x=4).encode(
        y="top:Q", text="text:N"
    )
    return alt.layer(areas, floors, texts).properties(height=_LANE * len(servers) + _AXIS)


def _heat_map(rows: list[Row], field: str, title: str, unit: str, servers: int) -> AnyChart:
    most = max((row[field] for row in rows), default=1) or 1
    tooltip = [
        alt.Tooltip("server:O"), alt.Tooltip("at:Q", title=unit, format=",.3~r"),
        alt.Tooltip(f"{field}:Q", title=title, format=","),
    ]  # fmt: skip
    found: AnyChart = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_rect()
        .encode(
            x=alt.X("at:Q", title=f"{unit} since the first step", scale=alt.Scale(nice=False)),
            x2="to:Q",
            y=alt.Y("server:O", title="server"),
            color=alt.Color(
                f"{field}:Q", scale=fading(SERVER, most),
                legend=alt.Legend(title=title, orient="top", labelExpr=NUMBER),
            ),
            tooltip=tooltip,
        )
        .properties(height=max(120, min(20 * servers, 480)))
    )  # fmt: skip
    return found


def costs(rows: list[Row]) -> AnyChart:
    """What the same log costs on own servers and at the API."""
    most = max((row["amount"] for row in rows), default=0) or 1
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        y=alt.Y(
            "name:N", sort=None, title=None,
            axis=alt.Axis(ticks=False, domain=False, labelLimit=220, labelFontSize=12),
        ),
        x=alt.X("amount:Q", axis=None, scale=alt.Scale(domain=[0, most * 1.45])),
        tooltip=["name:N", "text:N"],
    )  # fmt: skip
    scale = alt.Scale(domain=list(_COSTS), range=list(_COSTS.values()))
    bars = base.mark_bar(height=_BAR * 0.6, cornerRadiusEnd=2).encode(
        color=alt.Color("kind:N", scale=scale, legend=None)
    )
    texts = base.mark_text(color=LABEL, align="left", dx=6, fontSize=12).encode(text="text:N")
    return alt.layer(bars, texts).properties(height=_BAR * len(rows) + 8)
