"""Rows of a run for charts: questions in SQL, asked of the documented views."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from cachecast.dashboard.theme import CLASS_OF
from cachecast.results import connect

# the longest span of a trend by the minute, by the hour
_SPANS = (("minute", timedelta(hours=1)), ("hour", timedelta(days=4)))
_CHARGES = ("fresh", "cache_read", "cache_write", "output")
_TREND = """
    SELECT date_trunc(?, arrival) AS at, currency, count(*) AS requests,
        sum(charge_fresh), sum(charge_cache_read), sum(charge_cache_write), sum(charge_output),
        sum(cache_read) / nullif(sum(prompt_tokens), 0) AS hits
    FROM ledger WHERE scenario = ? AND currency IS NOT NULL GROUP BY 1, 2 ORDER BY 1
"""

Row = dict[str, Any]


def trend(run: Path, scenario: str) -> tuple[str, list[Row], list[Row]]:
    """The unit (`minute`, `hour` or `day`), charges by class and time, hit ratios by time.

    Charges have `at`, `class`, `amount` in the currency; ratios `at`, `ratio` (None: a time
    without requests), `requests`.
    """
    connection = connect(run)
    try:
        ends = connection.execute(
            "SELECT min(arrival), max(arrival) FROM ledger WHERE scenario = ?", [scenario]
        ).fetchone()
        first, last = ends if ends is not None else (None, None)
        if not (isinstance(first, datetime) and isinstance(last, datetime)):
            return "hour", [], []
        unit = next((name for name, longest in _SPANS if last - first <= longest), "day")
        rows = connection.execute(_TREND, [unit, scenario]).fetchall()
    finally:
        connection.close()
    charges = [
        {"at": at.isoformat(), "class": CLASS_OF[name], "amount": float(amount)}
        for at, _, _, *amounts, _ in rows
        for name, amount in zip(_CHARGES, amounts, strict=True)
        if amount
    ]
    hits = [(at, ratio, requests) for at, _, requests, *_, ratio in rows]
    return unit, charges, list(_with_gaps(hits, timedelta(**{f"{unit}s": 1})))


def _with_gaps(hits: list[tuple[datetime, float, int]], step: timedelta) -> Iterator[Row]:
    """A row each, and one without a ratio where nothing came: no line leads over such a time."""
    for number, (at, ratio, requests) in enumerate(hits):
        if number and at - hits[number - 1][0] > step:
            yield {"at": (at - step).isoformat(), "ratio": None, "requests": 0}
        yield {"at": at.isoformat(), "ratio": ratio, "requests": requests}
