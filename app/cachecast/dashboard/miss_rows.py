"""What misses cost in each hour, of a run or of the ribbons that `questions/why.py` wrote."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq

from cachecast.results import connect
from cachecast_pricing.money import to_decimal
from cachecast_pricing.rules.reasons import UNAVOIDABLE

Row = dict[str, Any]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_BY_HOUR = """
    SELECT date_trunc('hour', l.arrival), m.reason, m.avoidable, sum(m.cost),
        CAST(sum(m.tokens) AS BIGINT), count(*)
    FROM misses m JOIN ledger l USING (scenario, row)
    WHERE scenario = ? GROUP BY 1, 2, 3 ORDER BY 1, 2
"""
_OF_RIBBONS = """
    SELECT hour, reason, sum(cost), CAST(sum(tokens) AS BIGINT), count(*) FROM (
        SELECT CAST(floor(arrival_us / 3600e6) AS BIGINT) AS hour, unnest(miss_reasons) AS reason,
            unnest(miss_tokens) AS tokens, unnest(miss_costs) AS cost FROM ribbons
    ) GROUP BY 1, 2 ORDER BY 1, 2
"""
_COLUMNS = ["arrival_us", "miss_reasons", "miss_tokens", "miss_costs"]
_NAMES = ("hour", "reason", "avoidable", "cost", "tokens", "requests")


def misses_by_hour(run: Path, scenario: str) -> list[Row]:
    """A row an hour and reason: `hour` (UTC), `reason`, `avoidable`, `cost`, `tokens`, `requests`.

    `cost` is an exact Decimal of the run's currency, None for no price.
    """
    connection = connect(run)
    try:
        found = connection.execute(_BY_HOUR, [scenario]).fetchall()
    finally:
        connection.close()
    return [dict(zip(_NAMES, row, strict=True)) for row in found]


def misses_of_ribbons(path: Path) -> list[Row]:
    """The same out of a ribbon file."""
    with duckdb.connect(":memory:", config={"python_enable_replacements": False}) as connection:
        connection.register("ribbons", pq.read_table(path, columns=_COLUMNS))
        found = connection.execute(_OF_RIBBONS).fetchall()
    rows = []
    for hour, reason, cost, tokens, requests in found:
        money = None if cost is None else to_decimal(cost)
        avoidable = reason not in UNAVOIDABLE
        at = _EPOCH + timedelta(hours=hour)
        rows.append(
            dict(zip(_NAMES, (at, reason, avoidable, money, tokens, requests), strict=True))
        )
    return rows
