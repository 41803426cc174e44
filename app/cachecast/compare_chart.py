"""Predicted against measured as a chart, in Vega-Lite: one panel a metric, the identity line, and
the band in which two replays of the same engine differ."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from cachecast.chart_file import SCHEMA
from cachecast.comparing import Comparison
from cachecast_replay.comparison.runs import Floats

_SIDE = 300
_MS = 1e6

Row = dict[str, Any]


def spec(found: Comparison) -> Row:
    """TTFT, ITL and E2E of each request in milliseconds, both axes logarithmic."""
    return {
        "$schema": SCHEMA,
        "title": f"{len(found.measured)} requests, {found.mode.replace('_', '-')}: {found.verdict}",
        "hconcat": [_panel(panel) for panel in panels(found)],
    }


def panels(found: Comparison) -> list[Row]:
    """What to draw of each metric: `name`, the `points` with the request's `id` and both times in
    milliseconds, and the mean by which two replays differ (`floor_pct`, None if unknown)."""
    floor = found.floor
    ttft, itl = (None, None) if floor is None else (floor.ttft, floor.itl)
    one, other = found.predicted, found.measured
    metrics = [
        ("TTFT", one.ttft_ns, other.ttft_ns, ttft),
        ("ITL", one.itl_ns, other.itl_ns, itl),
        ("E2E", one.e2e_ns, other.e2e_ns, None),
    ]
    return [
        {
            "name": name,
            "points": _times(one.ids, predicted, measured),
            "floor_pct": None if off is None else off.mean_abs_pct,
        }
        for name, predicted, measured, off in metrics
    ]


def _times(ids: Sequence[str], predicted: Floats, measured: Floats) -> list[Row]:
    """Of those that both axes, which are logarithmic, can show."""
    kept = np.isfinite(predicted) & np.isfinite(measured) & (measured > 0) & (predicted > 0)
    return [
        {"id": ids[n], "predicted": float(predicted[n]) / _MS, "measured": float(measured[n]) / _MS}
        for n in np.flatnonzero(kept).tolist()
    ]


def _panel(panel: Row) -> Row:
    name, points, floor_pct = panel["name"], panel["points"], panel["floor_pct"]
    ends = sorted(value for point in points for value in (point["predicted"], point["measured"]))
    line = [{"at": end} for end in ((ends[0], ends[-1]) if ends else ())]
    layers = [_points(name), _identity(line)]
    if floor_pct is not None:
        layers.insert(0, _band(line, floor_pct))
    return {"width": _SIDE, "height": _SIDE, "data": {"values": points}, "layer": layers}


def _axis(field: str, title: str) -> Row:
    return {
        "field": field, "type": "quantitative", "title": title,
        "scale": {"type": "log", "nice": False},
    }  # fmt: skip


def _points(name: str) -> Row:
    return {
        "mark": {"type": "point", "filled": True, "opacity": 0.6, "color": "#0072B2"},
        "encoding": {
            "x": _axis("measured", f"measured {name} (ms)"),
            "y": _axis("predicted", f"predicted {name} (ms)"),
        },
    }


def _identity(line: list[Row]) -> Row:
    return {
        "data": {"values": line},
        "mark": {"type": "line", "color": "#555555", "strokeDash": [4, 3]},
        "encoding": {
            "x": {"field": "at", "type": "quantitative"},
            "y": {"field": "at", "type": "quantitative"},
        },
    }


def _band(line: list[Row], floor_pct: float) -> Row:
    off = floor_pct / 100
    values = [
        {"at": p["at"], "low": p["at"] * max(0.01, 1 - off), "high": p["at"] * (1 + off)}
        for p in line
    ]
    return {
        "data": {"values": values},
        "mark": {"type": "area", "opacity": 0.2, "color": "#555555"},
        "encoding": {
            "x": {"field": "at", "type": "quantitative"},
            "y": {"field": "low", "type": "quantitative"},
            "y2": {"field": "high"},
        },
    }
