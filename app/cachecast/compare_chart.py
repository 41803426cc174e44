"""Predicted against measured as a chart, in Vega-Lite: one panel a metric, the identity line, and
the band in which two replays of the same engine differ."""

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
    floor = found.floor
    metrics = [
        ("TTFT", found.predicted.ttft_ns, found.measured.ttft_ns, floor and floor.ttft),
        ("ITL", found.predicted.itl_ns, found.measured.itl_ns, floor and floor.itl),
        ("E2E", found.predicted.e2e_ns, found.measured.e2e_ns, None),
    ]
    return {
        "$schema": SCHEMA,
        "title": f"{len(found.measured)} requests, {found.mode.replace('_', '-')}: {found.verdict}",
        "hconcat": [
            _panel(name, predicted, measured, None if off is None else off.mean_abs_pct)
            for name, predicted, measured, off in metrics
        ],
    }


def _panel(name: str, predicted: Floats, measured: Floats, floor_pct: float | None) -> Row:
    kept = np.isfinite(predicted) & np.isfinite(measured) & (measured > 0) & (predicted > 0)
    points = [
        {"predicted": float(p) / _MS, "measured": float(m) / _MS}
        for p, m in zip(predicted[kept], measured[kept], strict=True)
    ]
    ends = sorted(value for point in points for value in point.values())
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
