"""The prefix ribbon: one bar a request, read from the left until its prompt parts."""

from typing import Any

import altair as alt

from cachecast.dashboard.charts import AnyChart
from cachecast.dashboard.charts.classes import class_scale
from cachecast.dashboard.theme import LABEL

Row = dict[str, Any]
_BAR, _FEW = 17, 30  # pixels of a bar and its gap; fewer requests have thicker bars
PICKED = "picked"  # the selection that a click on a bar makes: its `n`
_EDGED = 80  # pieces of at least the longest prompt's 80th part have an edge
_LABELS = 1.5  # room behind the longest bar for what is written there


def ribbon(segments: list[Row], notes: list[Row]) -> AnyChart:
    """Bars of prompt tokens by class, a mark where each parts from the earlier prompt, labels. A
    click on a bar selects it."""
    longest = max((row["end"] for row in notes), default=1) or 1
    step = _BAR if len(notes) > _FEW else _BAR + 5
    y = alt.Y(
        "n:O", title="request of the session",
        axis=alt.Axis(labelOverlap=True, ticks=False, domain=False, grid=False, labelFontSize=11),
        scale=alt.Scale(paddingInner=0.22),
    )  # fmt: skip
    x = alt.X(
        "start:Q", title="tokens of the prompt, from its first to its last",
        scale=alt.Scale(domain=[0, longest * _LABELS], nice=False),
        axis=alt.Axis(labelExpr=_COUNT, grid=False, values=_ticks(longest)),
    )  # fmt: skip
    bars = (
        alt.Chart(alt.InlineData(values=segments))
        .mark_bar(cornerRadius=1.5, cursor="pointer", stroke="#000000", strokeWidth=0.4)
        .encode(
            y=y,
            x=x,
            x2="end:Q",
            color=_colour(segments),
            tooltip=_PIECE,
            # edges of what is a few pixels wide would hide its colour
            strokeOpacity=alt.condition(
                f"datum.end - datum.start > {longest / _EDGED}", alt.value(0.4), alt.value(0)
            ),
        )
        .add_params(alt.selection_point(name=PICKED, fields=["n"]))
    )
    parted = [row for row in notes if row["parted"] is not None]
    place = alt.Chart(alt.InlineData(values=parted)).encode(y=y, x=alt.X("parted:Q"), tooltip=_NOTE)
    marks = place.mark_point(
        shape="diamond", filled=True, size=70, color="#FFFFFF", stroke="#1B2430", strokeWidth=1.6,
        opacity=1,
    )  # fmt: skip
    said = [row for row in notes if row["label"]]
    labels = (
        alt.Chart(alt.InlineData(values=said))
        .mark_text(align="left", dx=9, fontSize=11.5, color=LABEL)
        .encode(
            y=y, x=alt.X("end:Q"), text="label:N", tooltip=_NOTE,
            opacity=alt.condition("datum.avoidable", alt.value(1), alt.value(0.8)),
        )
    )  # fmt: skip
    return alt.layer(bars, marks, labels).properties(height=step * max(len(notes), 2) + 84)


_COUNT = "datum.value == 0 ? '0' : format(datum.value, '~s')"  # not "0k"


def _ticks(longest: int) -> list[int]:
    """Round numbers up to the longest prompt: the axis ends where the bars do."""
    sizes = (digit * 10**power for power in range(12) for digit in (1, 2, 5))
    size = next(size for size in sizes if longest <= 6 * size)
    return list(range(0, longest + 1, size))


def _colour(segments: list[Row]) -> alt.Color:
    scale = class_scale(segments)
    return alt.Color(
        "class:N", scale=scale,
        legend=alt.Legend(orient="top", title=None, symbolType="square",
            symbolStrokeWidth=0),
    )  # fmt: skip


_PIECE = [
    alt.Tooltip("reason:N", title="why"),
    alt.Tooltip("class:N", title="billed as"),
    alt.Tooltip("tokens:N"),
    alt.Tooltip("from:N", title="from token"),
    alt.Tooltip("block:N", title="where"),
    alt.Tooltip("request:N"),
]
_NOTE = [
    alt.Tooltip("cause:N", title="why"),
    alt.Tooltip("parted:Q", title="parts after token", format=","),
    alt.Tooltip("earlier:N", title="compared with"),
    alt.Tooltip("prompt:N", title="prompt tokens"),
    alt.Tooltip("pause:N", title="after a pause of"),
    alt.Tooltip("since:N", title="into the session"),
    alt.Tooltip("agent:N", title="of"),
    alt.Tooltip("request:N"),
]
