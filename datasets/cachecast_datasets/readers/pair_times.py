"""The times of a request and response pair, under the names that programs give them."""

from collections.abc import Mapping
from typing import Any

from cachecast_datasets.readers.times import any_moment

START = (
    "start_time", "startTime", "started_at", "startedAt", "start", "request_time", "requested_at",
    "sent_at", "request_created_at", "arrival", "at",
)  # fmt: skip
# these may also mean the moment of logging, which is near the end
VAGUE = ("timestamp", "time", "ts", "created_at", "createdAt", "date")
END = ("end_time", "endTime", "ended_at", "finished_at", "completed_at", "response_time", "end")
FIRST = ("first_token_time", "first_token_at", "completionStartTime", "completion_start_time")
SECONDS = {
    "duration_s": 1, "duration": 1, "latency": 1, "latency_s": 1, "took": 1, "end_s": 1,
    "duration_ms": 1000, "latency_ms": 1000, "durationMs": 1000, "elapsed_ms": 1000,
}  # fmt: skip
FIRST_SECONDS = {
    "ttft": 1, "ttft_s": 1, "first_token_s": 1, "time_to_first_token": 1, "ttft_ms": 1000,
    "time_to_first_token_ms": 1000, "timeToFirstToken": 1,
}  # fmt: skip


def times_of(
    row: Mapping[str, Any],
) -> tuple[tuple[int, bool] | None, float | None, float | None, float | None]:
    """(arrival, its uncertainty, end, first token), the last two in seconds after it."""
    start = _moment(row, START)
    vague = _moment(row, VAGUE) if start is None else None
    moment = start or vague
    end_s, first_s = _seconds(row, SECONDS), _seconds(row, FIRST_SECONDS)
    uncertainty = end_s if vague is not None else None
    for names in (END, FIRST):
        later = _moment(row, names)
        if later is None:
            continue
        if moment is None and names is END:  # only the end is known
            moment = (later[0] - round((end_s or 0) * 1_000_000), later[1])
            uncertainty = 0.0 if end_s is not None else None
        elif moment is not None and later[1] == moment[1] and later[0] >= moment[0]:
            after = (later[0] - moment[0]) / 1_000_000
            end_s, first_s = (after, first_s) if names is END else (end_s, after)
    return moment, uncertainty, end_s, first_s


def _moment(row: Mapping[str, Any], names: tuple[str, ...]) -> tuple[int, bool] | None:
    for name in names:
        if row.get(name) is not None:
            return any_moment(row[name], name)
    return None


def _seconds(row: Mapping[str, Any], per: Mapping[str, int]) -> float | None:
    for name, per_second in per.items():
        value = row.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e12:
            return value / per_second
    return None


def created_in(replies: list[Any]) -> tuple[int, bool] | None:
    """The first moment of creation in responses or the chunks of one."""
    for reply in replies:
        inner = reply.get("response") if isinstance(reply.get("response"), dict) else reply
        for name in ("created", "created_at"):
            value = inner.get(name)
            if isinstance(value, int | float) and 1e8 <= value < 1e11:
                return any_moment(value, name)
    return None
