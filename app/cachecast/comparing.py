"""The `compare` job: two or three runs read, their requests matched, their differences judged."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from cachecast.alike import check_alike, check_lock_step
from cachecast.fleet_file import FilesBeside
from cachecast.results.reader import read_info
from cachecast_datasets.errors import BadInput
from cachecast_replay.comparison.errors import Errors, errors
from cachecast_replay.comparison.lock_step import Mismatches, mismatches
from cachecast_replay.comparison.runs import Floats, Requests, Steps
from cachecast_replay.comparison.teacher_forced import (
    predicted_durations,
    raw_durations,
    retimed,
    teacher_forced,
)
from cachecast_replay.comparison.verdict import Floor, Mode, Verdict, verdict
from cachecast_sim.latency.kinds import latency_of

T = TypeVar("T")

_WORK = (
    "prefill_tokens", "prefill_requests", "prefill_pairs", "decode_requests", "decode_context",
    "held_tokens",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Run:
    """A run that can be compared: what `run.json` says, its completed requests, its steps."""

    path: Path
    info: dict[str, Any]
    requests: Requests
    steps: Steps | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """Predicted against measured, request by request, over those that both completed."""

    mode: Mode
    verdict: Verdict
    why: str
    predicted: Requests
    measured: Requests
    left_out: int
    mismatches: Mismatches
    ttft: Errors | None
    itl: Errors | None
    e2e: Errors | None
    floor: Floor | None
    floor_mismatches: Mismatches | None
    teacher_ttft: Errors | None = None
    teacher_itl: Errors | None = None
    raw: "RawClock | None" = None


@dataclass(frozen=True, slots=True)
class RawClock:
    """Errors of a normalised prediction on the same schedule by the wall's own durations: what the
    machine's drift adds. Nothing is judged by them."""

    ttft: Errors | None
    itl: Errors | None
    floor: Floor | None


def compare(predicted: Run, measured: Run, again: Run | None) -> Comparison:
    """BadInput for runs of different logs or clocks, or without a request in common."""
    runs = (predicted, measured) if again is None else (predicted, measured, again)
    for one, other in combinations(runs, 2):
        check_alike(one.path, one.info, other.path, other.info)
    ids = _common([run.requests for run in runs])
    found, truth = predicted.requests.only(ids), measured.requests.only(ids)
    left_out = max(len(predicted.requests), len(measured.requests)) - len(ids)
    lock_step = predicted.info.get("latency", {}).get("kind") == "recorded"
    if lock_step:
        check_lock_step(predicted.path, predicted.info)
    mode: Mode = "lock_step" if lock_step else "free_running"
    differing = mismatches(found, truth, (predicted.steps, measured.steps) if lock_step else _NONE)
    ttft, itl = errors(found.ttft_ns, truth.ttft_ns), errors(found.itl_ns, truth.itl_ns)
    floor, floor_mismatches = None, None
    if again is not None:
        second = again.requests.only(ids)
        floor = Floor(errors(second.ttft_ns, truth.ttft_ns), errors(second.itl_ns, truth.itl_ns))
        floor_mismatches = mismatches(second, truth, _NONE)
    if lock_step and left_out:
        verdict_found: tuple[Verdict, str] = ("fail", f"{left_out} requests are in one run only")
    else:
        verdict_found = verdict(mode, differing, ttft, itl, floor)
    forced = _teacher_forced(predicted, measured, truth)
    return Comparison(
        mode, *verdict_found, found, truth, left_out, differing, ttft, itl,
        errors(found.e2e_ns, truth.e2e_ns), floor, floor_mismatches, *forced,
        _raw_clock(found, truth, measured, again),
    )  # fmt: skip


_NONE: tuple[None, None] = (None, None)


def _teacher_forced(
    predicted: Run, measured: Run, truth: Requests
) -> tuple[Errors | None, Errors | None]:
    """Only for a fitted model, whose file is still there, and a measured run with its steps."""
    table = predicted.info.get("latency", {})
    if table.get("kind") != "fitted" or measured.steps is None:
        return None, None
    model = latency_of(
        table, FilesBeside(Path(predicted.info.get("latency_folder", "."), "fleet.toml"))
    )
    durations = predicted_durations(measured.steps, model)
    return teacher_forced(truth, measured.steps, durations)


def _raw_clock(
    found: Requests, truth: Requests, measured: Run, again: Run | None
) -> RawClock | None:
    """Only where durations were scaled and the wall's own are known."""
    by_wall = _by_wall(measured, truth)
    if by_wall is None:
        return None
    floor = None
    if again is not None:
        second = _by_wall(again, again.requests.only(truth.ids))
        if second is not None:
            floor = Floor(errors(second[0], by_wall[0]), errors(second[1], by_wall[1]))
    return RawClock(errors(found.ttft_ns, by_wall[0]), errors(found.itl_ns, by_wall[1]), floor)


def _by_wall(run: Run, requests: Requests) -> tuple[Floats, Floats] | None:
    raw_ns = (
        None
        if run.steps is None or run.info.get("normalised") is not True
        else raw_durations(run.steps)
    )
    return None if run.steps is None or raw_ns is None else retimed(requests, run.steps, raw_ns)


def read_run(path: Path) -> Run:
    """BadInput unless the folder is a run of `simulate` or `replay`."""
    info = read_info(path)
    for name in ("measured", "served"):
        file = path / f"{name}.parquet"
        if file.is_file():
            return Run(path, info, _read(file, _requests), _read_steps(path / "steps.parquet"))
    raise BadInput(
        f"{path}: has no requests that were served, expected a run of simulate or replay"
    )


def _read(file: Path, of: Callable[[pa.Table], T]) -> T:
    try:
        return of(pq.read_table(file))
    except (OSError, pa.ArrowException) as problem:
        raise BadInput(f"{file}: cannot be read as a table of a run ({problem})") from None
    except (KeyError, ValueError, TypeError) as problem:
        raise BadInput(f"{file}: the run is damaged, its table is another ({problem})") from None


def _requests(table: pa.Table) -> Requests:
    done = table.filter(pa.compute.field("status") == "ok").sort_by("row")

    def counts(name: str) -> Any:
        return done.column(name).to_numpy(zero_copy_only=False).astype(np.float64)

    again = [None if x is None else tuple(x) for x in done.column("readmissions").to_pylist()]
    return Requests(
        done.column("request_id").to_pylist(), counts("prompt_tokens"), counts("output_tokens"),
        counts("hit_tokens"), again, counts("preemptions"), _known(done, "arrival_us") * 1000,
        _known(done, "first_token_ns"), _known(done, "end_ns"),
    )  # fmt: skip


def _read_steps(file: Path) -> Steps | None:
    return _read(file, _steps) if file.is_file() else None


def _steps(unsorted: pa.Table) -> Steps:
    table = unsorted.sort_by("step")
    work = [_known(table, name) for name in _WORK]
    starts = table.column("start_ns").fill_null(-1).to_numpy().astype(np.int64)
    raw = table.column("raw_ns")
    raw_ns = None if raw.null_count else raw.to_numpy().astype(np.int64)
    return Steps(starts, _known(table, "duration_ns"), np.column_stack(work), raw_ns)


def _known(table: pa.Table, name: str) -> Any:
    column = table.column(name)
    if column.null_count:
        raise ValueError(f"{name} is null")
    return column.to_numpy().astype(np.int64)


def _common(runs: Sequence[Requests]) -> list[str]:
    others = [set(run.ids) for run in runs[1:]]
    found = [name for name in runs[0].ids if all(name in ids for ids in others)]
    if not found:
        raise BadInput("the runs have no completed request in common, expected runs of one log")
    return found
