"""A small run whose every number can be checked in the head."""

import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from cachecast.results import RunWriter
from cachecast.results.schema import LEDGER, MISSES, REQUESTS

UNIT = 10**12
_START = datetime.datetime(2026, 1, 1, 23, 30, tzinfo=datetime.UTC)


def write_bill_run(path: Path) -> Path:
    """The path of a run: scenario a, b over requests r0 … r3, half an hour apart, from 23:30.

    r0, r1 are of session s1, r2 of s2, r3 of none. In `a` r2 has no price and r3 is in CNY.
    """
    with RunWriter(path) as run:
        requests = [{"row": n, "request_id": f"r{n}", "arrival": _arrival(n)} for n in range(4)]
        run.table("requests", REQUESTS).write(_batch(requests, REQUESTS))
        ledger = [
            # the whole amount is near the top of int64, and beyond what a float holds exactly
            _row("a", 0, fresh=10, charge=9_000_000 * UNIT + 1, without=9_000_000 * UNIT + 1),
            _row("a", 1, cache_read=30, fresh=10, charge=2, without=9),
            _row("a", 2, fresh=50, charge=None, without=None, currency=None),
            _row("b", 0, fresh=10, charge=4 * UNIT, without=4 * UNIT),
            _row("b", 1, cache_read=30, fresh=10, charge=1 * UNIT, without=3 * UNIT),
            _row("b", 2, fresh=50, charge=5 * UNIT, without=5 * UNIT),
            _row("b", 3, cache_write_5m=8, charge=7 * UNIT, without=6 * UNIT, currency="CNY"),
        ]
        run.table("ledger", LEDGER).write(_batch(ledger, LEDGER))
        misses = [
            _miss("a", 0, "cold_start", 10, 1, False),
            _miss("a", 1, "ttl_expired", 10, UNIT // 4, True),
            _miss("a", 2, "ttl_expired", 20, None, True),
            _miss("a", 2, "cold_start", 30, None, False),
            _miss("b", 3, "cold_start", 8, 7 * UNIT, False),
        ]
        run.table("misses", MISSES).write(_batch(misses, MISSES))
        run.finish({"command": "bill", "scenarios": [{"name": "a"}, {"name": "b"}]})
    return path


def _batch(rows: list[dict[str, Any]], schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist(rows, schema=schema)


def _arrival(row: int) -> datetime.datetime:
    return _START + row * datetime.timedelta(minutes=30)


def _row(
    scenario: str,
    row: int,
    charge: int | None,
    without: int | None,
    currency: str | None = "USD",
    **tokens: int,
) -> dict[str, Any]:
    classes = ("fresh", "cache_read", "cache_write_5m", "cache_write_30m", "cache_write_1h",
               "cache_write_12h", "cache_write_unknown")  # fmt: skip
    return {
        "scenario": scenario, "row": row, "request_id": f"r{row}", "arrival": _arrival(row),
        "session_id": ("s1", "s1", "s2", None)[row], "provider": "p", "model": "m",
        "prompt_tokens": sum(tokens.values()), **dict.fromkeys(classes, 0), **tokens,
        "output": 1, "charge_total": charge, "without_cache": without, "currency": currency,
        "candidates": [], "evidence": "{}",
    }  # fmt: skip


def _miss(
    scenario: str, row: int, reason: str, tokens: int, cost: int | None, avoidable: bool
) -> dict[str, Any]:
    return {
        "scenario": scenario, "row": row, "request_id": f"r{row}", "reason": reason,
        "tokens": tokens, "cost_picounits": cost, "avoidable": avoidable,
    }  # fmt: skip
