"""Charts of misses: reasons by money, and money by hour of the day."""

from typing import Any

import altair as alt

from cachecast.dashboard.charts import NUMBER, AnyChart, fading
from cachecast.dashboard.theme import LABEL, MISS

Row = dict[str, Any]
_NEUTRAL = "#8A94A0"  # what nobody can avoid; stands out from both backgrounds
_KINDS = {"avoidable": MISS, "not avoidable": _NEUTRAL}
_BAR = 28


def reason_bars(rows: list[Row], title: str, of: str = "the charge") -> AnyChart:
    """One bar a reason with its money, or tokens, and its share behind it."""
    most = max((row["amount"] for row in rows), default=1) or 1
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        y=alt.Y(
            "reason:N", sort=None, title=None,
            axis=alt.Axis(ticks=False, domain=False, labelLimit=180, labelFontSize=13),
        ),
        x=alt.X("amount:Q", title=title, scale=alt.Scale(domain=[0, most * 1.45]), axis=None),
        tooltip=[
            alt.Tooltip("reason:N"), alt.Tooltip("text:N", title=title),
            alt.Tooltip("share:N", title=f"of {of}"), alt.Tooltip("kind:N", title="is"),
            alt.Tooltip("tokens:N", title="tokens not read"), alt.Tooltip("requests:N"),
            alt.Tooltip("causes:N", title="dearest causes"),
        ],
    )  # fmt: skip
    bars = base.mark_bar(height=_BAR * 0.62, cornerRadiusEnd=2).encode(
        color=alt.Color(
            "kind:N", scale=alt.Scale(domain=list(_KINDS), range=list(_KINDS.values())),
            legend=alt.Legend(orient="top", title=None),
        )
    )  # fmt: skip
    labels = base.mark_text(align="left", dx=6, fontSize=13, color=LABEL).encode(text="label:N")
    return alt.layer(bars, labels).properties(height=_BAR * len(rows) + 36)


def heat_map(rows: list[Row], title: str, relative: bool) -> AnyChart:
    """A cell an hour: the day down, the hour across, stronger where more was lost."""
    hours = "hour of the day from the log's zero" if relative else "hour of arrival, UTC"
    days = list(dict.fromkeys(row["day"] for row in rows))
    most = max((row["amount"] for row in rows), default=1) or 1
    found: AnyChart = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_rect(cornerRadius=2)
        .encode(
            x=alt.X(
                "hour:O", title=hours, scale=alt.Scale(domain=list(range(24)), paddingInner=0.06),
                axis=alt.Axis(labelAngle=0, labelOverlap=True, ticks=False, domain=False),
            ),
            y=alt.Y(
                "day:N", sort=days, title=None, scale=alt.Scale(paddingInner=0.08),
                axis=alt.Axis(ticks=False, domain=False),
            ),
            color=alt.Color(
                "amount:Q", title=title, scale=fading(MISS, most),
                legend=alt.Legend(orient="top", labelExpr=NUMBER, gradientLength=200),
            ),
            tooltip=[
                alt.Tooltip("day:N"), alt.Tooltip("hour:O"), alt.Tooltip("text:N", title="lost"),
                alt.Tooltip("most:N", title="most of it"),
                alt.Tooltip("tokens:N", title="tokens not read"),
                alt.Tooltip("requests:N", title="misses"),
            ],
        )
        .properties(height=30 * len(days) + 160)
    )  # fmt: skip
    return found
