"""Served requests and the timeline of a fleet into the tables of a run."""

from typing import Any

import pyarrow as pa

from cachecast.results import RunWriter
from cachecast.results.schema import MEASURED, MISSES, SERVED, TIMELINE
from cachecast_pricing.rules.reasons import UNAVOIDABLE
from cachecast_sim.fleet.job import Job
from cachecast_sim.fleet.run import FleetRun

BATCH_ROWS = 4_096
NS_PER_US = 1000


class ServedSink:
    """Collects jobs and writes them in batches; call `flush` at the end."""

    def __init__(self, run: RunWriter, fleet: str) -> None:
        self._served = run.table("served", SERVED)
        self._misses = run.table("misses", MISSES)
        self._fleet = fleet
        self._rows: list[dict[str, Any]] = []
        self._reasons: list[dict[str, Any]] = []

    def __call__(self, job: Job) -> None:
        """One more job that has ended."""
        self._rows.append(_values(self._fleet, job))
        for reason, count in job.misses:
            self._reasons.append(
                {
                    "scenario": self._fleet,
                    "row": job.index,
                    "request_id": job.request_id,
                    "reason": reason,
                    "tokens": count,
                    "cost_picounits": None,
                    "avoidable": reason not in UNAVOIDABLE,
                }
            )
        if len(self._rows) >= BATCH_ROWS:
            self.flush()

    def flush(self) -> None:
        """Write what was collected."""
        self._served.write(pa.RecordBatch.from_pylist(self._rows, schema=SERVED))
        self._misses.write(pa.RecordBatch.from_pylist(self._reasons, schema=MISSES))
        self._rows, self._reasons = [], []


class MeasuredSink:
    """The jobs of a replay, written in batches; call `flush` at the end."""

    def __init__(self, run: RunWriter, engine: str) -> None:
        self._measured = run.table("measured", MEASURED)
        self._engine = engine
        self._rows: list[dict[str, Any]] = []

    def __call__(self, job: Job) -> None:
        """One more job that has ended."""
        self._rows.append(_values(self._engine, job))
        if len(self._rows) >= BATCH_ROWS:
            self.flush()

    def flush(self) -> None:
        """Write what was collected."""
        self._measured.write(pa.RecordBatch.from_pylist(self._rows, schema=MEASURED))
        self._rows = []


def _values(fleet: str, job: Job) -> dict[str, Any]:
    return {
        "scenario": fleet,
        "row": job.index,
        "request_id": job.request_id,
        "session_id": job.session_id,
        "status": job.status,
        "server": job.server,
        "decode_server": job.decode_server,
        "prompt_tokens": job.prompt_tokens,
        "output_tokens": job.output_tokens,
        "hit_tokens": job.hit_tokens,
        "loaded_tokens": job.loaded_tokens,
        "readmission_hit_tokens": sum(job.readmission_hit_tokens),
        "readmissions": list(job.readmission_hit_tokens),
        "preemptions": job.preemptions,
        "arrival_us": job.arrival_ns // NS_PER_US,
        "scheduled_ns": job.scheduled_ns,
        "first_token_ns": job.first_token_ns,
        "end_ns": job.end_ns,
        "ttft_s": _after(job.first_token_ns, job.arrival_ns),
        "e2e_s": _after(job.end_ns, job.arrival_ns),
        "reason": job.reason,
    }


def _after(time_ns: int | None, start_ns: int) -> float | None:
    return None if time_ns is None else (time_ns - start_ns) / 1e9


def write_timeline(run: RunWriter, fleet: FleetRun) -> None:
    """One row for each server and interval in which something happened."""
    timeline = fleet.timeline
    rows = [
        {
            "server": number,
            "start_s": place * timeline.width_ns / 1e9,
            "width_s": timeline.width_ns / 1e9,
            "waiting": interval.waiting,
            "running": interval.running,
            "used_blocks": interval.used_blocks,
            "prompt_tokens": interval.prompt_tokens,
            "hit_tokens": interval.hit_tokens,
        }
        for number, intervals in enumerate(timeline.servers)
        for place, interval in sorted(intervals.items())
    ]
    run.table("timeline", TIMELINE).write(pa.RecordBatch.from_pylist(rows, schema=TIMELINE))
