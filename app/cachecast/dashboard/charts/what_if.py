"""Charts of one scenario against the log as it is, and of several side by side."""

from typing import Any

import altair as alt

from cachecast.dashboard.charts import NUMBER, AnyChart
from cachecast.dashboard.theme import ACCENT, CLASS_COLOURS, LABEL, MISS, TOTAL

Row = dict[str, Any]
_COLOURS = {**CLASS_COLOURS, "total": TOTAL, "GPUs": TOTAL}
SIDES = {"pay less": ACCENT, "pay the same": TOTAL, "pay more": MISS}
_BAR = 34


def waterfall(rows: list[Row], currency: str) -> AnyChart:
    """From today's bill over what each class adds or saves to the scenario's, texts above."""
    most = max(row["top"] for row in rows)
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        x=alt.X(
            "step:N",
            sort=None,
            title=None,
            axis=alt.Axis(labelAngle=0, ticks=False, labelFontSize=12),
        ),
        tooltip=[alt.Tooltip("step:N"), alt.Tooltip("text:N", title="charge")],
    )
    bars = base.mark_bar(cornerRadius=2).encode(
        y=alt.Y(
            "start:Q", title=f"charge, {currency}",
            axis=alt.Axis(labelExpr=NUMBER, tickCount=6, grid=False),
            scale=alt.Scale(domain=[0, most * 1.12]),
        ),
        y2="end:Q",
        color=alt.Color("class:N", scale=_scale(_COLOURS), legend=None),
    )  # fmt: skip
    texts = base.mark_text(dy=-8, fontSize=13, color=LABEL).encode(y="top:Q", text="text:N")
    return alt.layer(bars, texts).properties(height=260)


def changes(rows: list[Row], currency: str) -> AnyChart:
    """The same lying down, a change a bar: their names are long."""
    most = max(row["top"] for row in rows)
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        y=alt.Y(
            "step:N", sort=None, title=None,
            axis=alt.Axis(ticks=False, domain=False, labelLimit=230, labelFontSize=12),
        ),
        tooltip=[alt.Tooltip("step:N", title="change"), alt.Tooltip("text:N", title="charge")],
    )  # fmt: skip
    bars = base.mark_bar(height=_BAR * 0.6, cornerRadius=2).encode(
        x=alt.X(
            "start:Q", title=f"charge, {currency}",
            axis=alt.Axis(labelExpr=NUMBER, tickCount=6, grid=False),
            scale=alt.Scale(domain=[0, most * 1.2]),
        ),
        x2="end:Q",
        color=alt.Color("class:N", scale=_scale({**SIDES, "total": TOTAL}), legend=None),
    )  # fmt: skip
    texts = base.mark_text(align="left", dx=6, fontSize=13, color=LABEL).encode(
        x="top:Q", text="text:N"
    )
    return alt.layer(bars, texts).properties(height=_BAR * len(rows) + 50)


def who_pays(rows: list[Row]) -> AnyChart:
    """One bar of all sessions: those that pay less, the same, more; hover names the counts."""
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        x=alt.X(
            "share:Q", stack="zero", axis=None, scale=alt.Scale(domain=[0, 1]),
        ),
        order="order:O",
        tooltip=[alt.Tooltip("side:N", title="sessions that"), alt.Tooltip("text:N", title="")],
    )  # fmt: skip
    bars = base.mark_bar(height=_BAR).encode(
        color=alt.Color("side:N", scale=_scale(SIDES), legend=None)
    )
    found: AnyChart = bars.properties(height=_BAR + 12)
    return found


def side_by_side(rows: list[Row], currency: str) -> AnyChart:
    """A bar a scenario, its charge by class, the whole behind it."""
    most = max(row["total"] for row in rows)
    count = len({row["scenario"] for row in rows})
    y = alt.Y(
        "scenario:N", sort=alt.EncodingSortField("order", op="min"), title=None,
        axis=alt.Axis(ticks=False, domain=False, labelLimit=220),
    )  # fmt: skip
    base = alt.Chart(alt.InlineData(values=rows))
    bars = base.mark_bar(height=_BAR * 0.6).encode(
        y=y,
        x=alt.X(
            "amount:Q", stack="zero", title=f"charge, {currency}",
            axis=alt.Axis(labelExpr=NUMBER, tickCount=6),
            scale=alt.Scale(domain=[0, most * 1.2]),
        ),
        color=alt.Color("class:N", scale=_scale(_COLOURS), legend=_legend(rows)),
        order=alt.Order("rank:Q"),
        tooltip=[
            alt.Tooltip("scenario:N"), alt.Tooltip("class:N"),
            alt.Tooltip("text:N", title="charge"),
        ],
    )  # fmt: skip
    texts = (
        base.mark_text(align="left", dx=6, fontSize=13, color=LABEL)
        .transform_aggregate(total="max(total)", whole="max(whole)", groupby=["scenario", "order"])
        .encode(y=y, x=alt.X("total:Q"), text="whole:N")
    )
    return alt.layer(bars, texts).properties(height=_BAR * count + 100)


def _legend(rows: list[Row]) -> alt.Legend:
    shown = [name for name in _COLOURS if any(row["class"] == name for row in rows)]
    return alt.Legend(orient="top", title=None, values=shown)


def _scale(colours: dict[str, str]) -> alt.Scale:
    return alt.Scale(domain=list(colours), range=list(colours.values()))
