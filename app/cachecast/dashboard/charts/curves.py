"""The hit ratio over the capacity of a cache and over the lifetime of its entries."""

from typing import Any

import altair as alt

from cachecast.dashboard.charts import AnyChart
from cachecast.dashboard.theme import ACCENT, CLASS_COLOURS, LABEL, MISS, SERVER
from cachecast.dashboard.wording import share

Row = dict[str, Any]
_HEIGHT = 260
_RISEN = 0.4  # a curve above that leaves room below it
_LIVES = [1, 10, 60, 600, 3_600, 14_400, 86_400, 604_800, 2_419_200]
_LIFE_LABEL = (
    "datum.value < 60 ? datum.value + ' s' : datum.value < 3600 ? datum.value / 60 + ' min' : "
    "datum.value < 86400 ? datum.value / 3600 + ' h' : datum.value / 86400 + ' d'"
)
_POWERS = [10.0**exponent for exponent in range(-3, 16)]


def capacity_curve(curve: Row, marked: list[Row], simulated: float | None) -> AnyChart:
    """Hit tokens at each capacity, the fleet's own sizes marked, and what the fleet really hit."""
    in_gib = curve["kv_bytes_per_token"] is not None
    field = "gib" if in_gib else "blocks"
    title = "capacity of one cache, GiB" if in_gib else f"blocks of {curve['block_tokens']} tokens"
    x = alt.X(
        f"{field}:Q", title=title, scale=alt.Scale(type="log", nice=False),
        axis=alt.Axis(values=_POWERS, format=",~f", grid=False),
    )  # fmt: skip
    rows = [row for row in curve["capacity"] if row[field] and row["token_hit_ratio"] is not None]
    layers = [*_curve(rows, x, field), *_ideal(curve)]
    if simulated is not None:
        layers += _level(simulated, f"this fleet, simulated: {share(simulated)}", MISS, 11)
    for place, row in enumerate(marked):
        edge = 1 if row["token_hit_ratio"] > _RISEN else 0  # away from the text
        named = alt.Chart(alt.InlineData(values=[row | {"edge": edge}])).encode(x=x)
        layers += [
            named.mark_rule(color=SERVER, strokeDash=[3, 3]).encode(y=_y(), y2="edge:Q"),
            named.mark_point(color=SERVER, filled=True, size=70, opacity=1).encode(y=_y()),
            named.mark_text(
                color=LABEL, align="right", dx=-6, y=_away(row["token_hit_ratio"], 14 + 18 * place)
            ).encode(text="text:N"),
        ]
    return alt.layer(*layers).properties(height=_HEIGHT)


def _away(ratio: float, pixels: int) -> float | alt.ExprRef:
    """Where a text meets no curve: below one that has risen, above one that stays low."""
    return alt.ExprRef(f"height - {pixels}") if ratio > _RISEN else float(pixels)


def life_curve(curve: Row, life_s: float | None) -> AnyChart:
    """Hit tokens at each lifetime of a cache without limit; the fleet's own marked."""
    x = alt.X(
        "ttl_s:Q", title="lifetime since the last use",
        scale=alt.Scale(type="log", nice=False),
        axis=alt.Axis(values=_LIVES, labelExpr=_LIFE_LABEL, grid=False),
    )  # fmt: skip
    rows = [row for row in curve["ttl"] if row["ttl_s"] and row["token_hit_ratio"] is not None]
    layers = [*_curve(rows, x, "ttl_s"), *_ideal(curve)]
    if life_s:
        data = alt.InlineData(values=[{"ttl_s": life_s, "text": "this fleet"}])
        base = alt.Chart(data).encode(x=x)
        layers += [
            base.mark_rule(color=SERVER, strokeDash=[3, 3]),
            base.mark_text(color=LABEL, align="left", dx=5, y=12).encode(text="text:N"),
        ]
    return alt.layer(*layers).properties(height=_HEIGHT)


def _y(field: str = "token_hit_ratio") -> alt.Y:
    return alt.Y(
        f"{field}:Q", title="prompt tokens hit", scale=alt.Scale(domain=[0, 1]),
        axis=alt.Axis(format="%", tickCount=5),
    )  # fmt: skip


def _curve(rows: list[Row], x: alt.X, field: str) -> list[alt.Chart]:
    tooltip = [
        alt.Tooltip(f"{field}:Q", format=",.4~r"),
        alt.Tooltip("token_hit_ratio:Q", title="tokens hit", format=".2%"),
        alt.Tooltip("block_hit_ratio:Q", title="blocks hit", format=".2%"),
    ]
    line = alt.Chart(alt.InlineData(values=rows)).mark_line(color=ACCENT, strokeWidth=2.5)
    return [line.encode(x=x, y=_y(), tooltip=tooltip)]


def _ideal(curve: Row) -> list[alt.Chart]:
    """What a cache that forgets nothing hits."""
    ideal = curve["ideal"]["token_hit_ratio"]
    if ideal is None:
        return []
    return _level(ideal, f"forgets nothing: {share(ideal)}", CLASS_COLOURS["uncached"], -8)


def _level(ratio: float, text: str, colour: str, below: int) -> list[alt.Chart]:
    """A horizontal line with its name at its left end."""
    base = alt.Chart(alt.InlineData(values=[{"ratio": ratio, "text": text}])).encode(y=_y("ratio"))
    return [
        base.mark_rule(color=colour, strokeDash=[5, 4]),
        base.mark_text(color=LABEL, align="left", x=6, dy=below).encode(text="text:N"),
    ]
