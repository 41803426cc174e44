"""The figures of one workload: medians over several comparisons, beside their goals."""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from cachecast_replay.comparison.goals import Figure, Row, free_running, measured_schedule

Errors = Mapping[str, Any]  # of one metric, as `compare --json` prints them


def judged_rows(found: Sequence[Mapping[str, Any]], load: float, *, bursts: bool) -> list[Row]:
    """Of comparisons of a fitted prediction with replays, each with another replay as its floor."""
    forced_ttft, forced_itl = (
        _errors([each["teacher_forced"][name] for each in found]) for name in _METRICS
    )
    ttft, itl = (_with_floor([each[name] for each in found]) for name in _METRICS)
    return [
        *measured_schedule(forced_ttft, forced_itl, load, bursts=bursts),
        *free_running(ttft, itl, load, bursts=bursts),
    ]


def raw_rows(found: Sequence[Mapping[str, Any]]) -> list[Row]:
    """By the wall's own durations, without goals; none where nothing was normalised."""
    if any(each["raw_clock"] is None for each in found):
        return []
    rows = []
    for name in _METRICS:
        error, floor = _with_floor([each["raw_clock"][name] for each in found])
        rows.append(Row(f"{name.upper()}, raw clock", error))
        rows.append(Row(f"{name.upper()} of two replays, raw clock", floor))
    return rows


_METRICS = ("ttft", "itl")


def _errors(found: Sequence[Errors]) -> Figure:
    return Figure(
        median(each["mean_abs_pct"] for each in found),
        median(each["p90_abs_pct"] for each in found),
    )


def _with_floor(found: Sequence[Errors]) -> tuple[Figure, Figure]:
    floor = Figure(
        median(each["noise_floor_pct"] for each in found),
        median(each["noise_floor_p90_pct"] for each in found),
    )
    return _errors(found), floor
