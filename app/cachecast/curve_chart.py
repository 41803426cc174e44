"""Curves as a chart, in Vega-Lite."""

from typing import Any

from cachecast.chart_file import SCHEMA
from cachecast.curve_job import Answer
from cachecast.curve_report import capacity_rows, ttl_rows
from cachecast_pricing.money import to_decimal

_WIDTH, _HEIGHT = 420, 280

Row = dict[str, Any]

# a grid of whole powers of ten, written out; and of the times that people say
_POWERS: Row = {"values": [10.0**e for e in range(-3, 16)], "format": ",~f"}
_LIVES: Row = {
    "values": [0.1, 1, 10, 60, 600, 3_600, 14_400, 86_400, 604_800, 2_419_200],
    "labelExpr": "datum.value < 60 ? datum.value + ' s' : datum.value < 3600 ? datum.value / 60 "
    "+ ' min' : datum.value < 86400 ? datum.value / 3600 + ' h' : datum.value / 86400 + ' d'",
}


def spec(answer: Answer) -> Row:
    """The two curves side by side, hit ratio over a logarithmic axis, as Vega-Lite 6."""
    in_gib = answer.question.bytes_per_token is not None
    capacity = (
        f"cache capacity (GiB, {answer.question.bytes_per_token:,} bytes a token)"
        if in_gib
        else f"cache capacity (blocks of {answer.curves.block_tokens} tokens)"
    )
    since = "last use" if answer.question.refresh else "write"
    return {
        "$schema": SCHEMA,
        "title": f"hit ratio of {answer.curves.requests:,} requests",
        "hconcat": [
            _panel(answer, capacity_rows(answer), "gib" if in_gib else "blocks", capacity, _POWERS),
            _panel(answer, ttl_rows(answer), "ttl_s", f"lifetime since the {since}", _LIVES),
        ],
        "resolve": {"scale": {"color": "shared"}},
    }


def _panel(answer: Answer, rows: list[Row], field: str, title: str, axis: Row) -> Row:
    x = {
        "field": field, "type": "quantitative", "title": title,
        "scale": {"type": "log", "nice": False}, "axis": axis,
    }  # fmt: skip
    layers = [_lines(x), _ideal(answer)]
    if answer.curves.sample is not None:
        layers.insert(0, _bands(x))
    panel = {
        "width": _WIDTH, "height": _HEIGHT, "layer": layers,
        "data": {"values": [point for row in rows if row[field] for point in _points(row, field)]},
    }  # fmt: skip
    money = _money(answer, x)
    if money is None:
        return panel
    ratios = {"layer": panel.pop("layer")}
    return panel | {"layer": [ratios, money], "resolve": {"scale": {"y": "independent"}}}


def _money(answer: Answer, x: Row) -> Row | None:
    """A second axis, on the right, whose top is what a hit of every prompt token would save: the
    line of the tokens is read on both."""
    worth, tokens = answer.question.worth, answer.curves.prompt_tokens
    if worth is None or not tokens:
        return None
    most = float(to_decimal(worth.saved(tokens)))
    y = {
        "field": "saved", "type": "quantitative", "title": f"saved ({worth.currency})",
        "scale": {"domain": [0, most]}, "axis": {"orient": "right"},
    }  # fmt: skip
    only_tokens = [{"filter": "datum.of == 'tokens'"}]
    line = {"mark": {"type": "line", "opacity": 0}, "transform": only_tokens}
    return line | {"encoding": {"x": x, "y": y}}


def _points(row: Row, field: str) -> list[Row]:
    """A row of the report as one point each for tokens and blocks."""
    found = []
    for name in ("token", "block"):
        ratio, interval = row[f"{name}_hit_ratio"], row[f"{name}_hit_ratio_interval"]
        if ratio is not None:
            low, high = interval or (None, None)
            point = {field: row[field], "of": f"{name}s", "hit_ratio": ratio}
            if name == "token" and row["saved"] is not None:
                point["saved"] = float(row["saved"])  # to be drawn
            found.append(point if interval is None else point | {"low": low, "high": high})
    return found


def _y(field: str) -> Row:
    return {
        "field": field, "type": "quantitative", "title": "hit ratio (%)",
        "scale": {"domain": [0, 1]}, "axis": {"format": ".0%"},
    }  # fmt: skip


def _lines(x: Row) -> Row:
    color = {"field": "of", "type": "nominal", "title": "share of"}
    return {"mark": {"type": "line"}, "encoding": {"x": x, "y": _y("hit_ratio"), "color": color}}


def _bands(x: Row) -> Row:
    color = {"field": "of", "type": "nominal", "title": "share of"}
    band = {"x": x, "y": _y("low"), "y2": {"field": "high"}, "color": color}
    return {"mark": {"type": "area", "opacity": 0.25}, "encoding": band}


def _ideal(answer: Answer) -> Row:
    """What a cache that forgets nothing would hit."""
    ideal = answer.curves.ideal
    values = [
        {"of": name, "ideal": ratio}
        for name, ratio in (("tokens", ideal.tokens), ("blocks", ideal.blocks))
        if ratio is not None
    ]
    return {
        "data": {"values": values},
        "mark": {"type": "rule", "strokeDash": [4, 4]},
        "encoding": {"y": _y("ideal"), "color": {"field": "of", "type": "nominal"}},
    }
