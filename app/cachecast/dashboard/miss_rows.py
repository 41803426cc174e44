"""What misses cost in each hour, asked of the documented views of a run."""

from pathlib import Path
from typing import Any

from cachecast.results import connect

Row = dict[str, Any]

_BY_HOUR = """
    SELECT date_trunc('hour', l.arrival), m.reason, m.avoidable, sum(m.cost),
        CAST(sum(m.tokens) AS BIGINT), count(*)
    FROM misses m JOIN ledger l USING (scenario, row)
    WHERE scenario = ? GROUP BY 1, 2, 3 ORDER BY 1, 2
"""


def misses_by_hour(run: Path, scenario: str) -> list[Row]:
    """A row an hour and reason: `hour` (UTC), `reason`, `avoidable`, `cost`, `tokens`, `requests`.

    `cost` is an exact Decimal of the run's currency, None for no price.
    """
    connection = connect(run)
    try:
        found = connection.execute(_BY_HOUR, [scenario]).fetchall()
    finally:
        connection.close()
    names = ("hour", "reason", "avoidable", "cost", "tokens", "requests")
    return [dict(zip(names, row, strict=True)) for row in found]
