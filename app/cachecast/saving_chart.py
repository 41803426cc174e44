"""What a cached prefix saves: TTFT over prompt size, cold and warm, in Vega-Lite."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cachecast.chart_file import SCHEMA

_WIDTH, _HEIGHT = 480, 300
_MOST_POINTS = 4_000  # a chart of more takes megabytes and shows no more

COLD, PARTLY, WARM = "nothing of it", "less than half", "half or more"
_COLORS = {COLD: "#D55E00", PARTLY: "#999999", WARM: "#0072B2"}

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Point:
    """One completed request; hit tokens are known."""

    prompt_tokens: int
    hit_tokens: int
    ttft_s: float

    @property
    def reused(self) -> str:
        """How much of the prompt the server had cached, in words."""
        if not self.hit_tokens:
            return COLD
        return WARM if 2 * self.hit_tokens >= self.prompt_tokens else PARTLY


def spec(points: Sequence[Point], title: str) -> Row:
    """A point a request, at most 4,000 of them evenly picked; TTFT in milliseconds."""
    step = -(-len(points) // _MOST_POINTS) or 1
    values = [
        {
            "prompt_tokens": point.prompt_tokens,
            "ttft_ms": round(1000 * point.ttft_s, 3),
            "reused": point.reused,
        }
        for point in points[::step]
    ]
    return {
        "$schema": SCHEMA,
        "title": title,
        "width": _WIDTH,
        "height": _HEIGHT,
        "data": {"values": values},
        "mark": {"type": "point", "filled": True, "opacity": 0.7, "size": 45},
        "encoding": {
            "x": {"field": "prompt_tokens", "type": "quantitative", "title": "prompt (tokens)"},
            "y": {"field": "ttft_ms", "type": "quantitative", "title": "TTFT (ms)",
                  "scale": {"type": "log", "nice": False}},
            "color": {
                "field": "reused", "type": "nominal", "title": "from the cache",
                "scale": {"domain": list(_COLORS), "range": list(_COLORS.values())},
            },
        },
    }  # fmt: skip
