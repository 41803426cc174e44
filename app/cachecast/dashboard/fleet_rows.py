"""A fleet's servers over time, for charts: asked of the documented view `timeline`."""

from pathlib import Path
from typing import Any

from cachecast.results import connect

Row = dict[str, Any]
_UNITS = ((86_400, "days"), (3_600, "h"), (60, "min"))

# A row is one interval; a server without one did nothing in it, which a line has to show.
_TIMELINE = """
    SELECT server, start_s, width_s, waiting, used_blocks FROM timeline
    WHERE waiting IS NOT NULL ORDER BY server, start_s
"""


def timeline(run: Path, servers: int) -> tuple[str, list[Row]]:
    """The unit of `at` (`s`, `min`, `h`, `days` since the first row) and a row for each server and
    interval: `server`, `at`, `to`, `waiting`, `blocks`; an idle time in between is a row of zeros,
    and so is the whole time of a server that did nothing.
    """
    connection = connect(run)
    try:
        found = connection.execute(_TIMELINE).fetchall()
    finally:
        connection.close()
    if not found:
        return "s", []
    first = min(start for _, start, *_ in found)
    length = max(start + width for _, start, width, *_ in found) - first
    size, unit = next(((size, unit) for size, unit in _UNITS if length >= 2 * size), (1, "s"))
    rows: list[Row] = []
    for server, start, width, waiting, blocks in found:
        at, to = (start - first) / size, (start + width - first) / size
        if rows and rows[-1]["server"] == server and at > rows[-1]["to"] + width / size / 1000:
            idle = {"server": server, "at": rows[-1]["to"], "to": at, "waiting": 0, "blocks": 0}
            rows.append(idle)
        rows.append({"server": server, "at": at, "to": to, "waiting": waiting, "blocks": blocks})
    busy = {row["server"] for row in rows}
    idle = {"at": 0.0, "to": length / size, "waiting": 0, "blocks": 0}
    return unit, rows + [{"server": s, **idle} for s in range(servers) if s not in busy]
