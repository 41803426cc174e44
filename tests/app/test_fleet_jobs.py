"""A log's jobs for fleets, asked for by several at once."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sim.token_logs import META, built

from cachecast.dashboard.work import Answer, Workshop
from cachecast.fleet_jobs import FleetJobs
from cachecast.progress import Report
from cachecast.simulating_logs import Progress
from cachecast_datasets.encode import batch_of
from cachecast_datasets.parquet_writer import log_writer
from cachecast_datasets.request import Request
from cachecast_datasets.trace import Trace, open_trace
from cachecast_sim.fleet.config import fleet_config
from cachecast_sim.fleet.log_jobs import KeptJobs
from cachecast_sim.fleet.run import FleetRun

TURN = {
    "after_s": 20, "session": "a", "keep": 0.0, "new_blocks": 4, "tail": 3, "first_token_s": 1.0,
    "end_s": 5.0, "model": "m1", "typed": True,
}  # fmt: skip
REQUESTS = 600  # more than lie between two reports
LONG_S = 60


@pytest.fixture
def trace(tmp_path: Path) -> Trace:
    with log_writer(tmp_path / "log.parquet", META) as out:
        out.write(batch_of(built([TURN] * REQUESTS, False)))
    return open_trace(tmp_path / "log.parquet")


def fleet() -> FleetRun:
    step = {"kind": "fixed", "prefill_step_s": 1, "decode_step_s": 1}
    return FleetRun(fleet_config({"engine": {"blocks": 100}, "latency": step}))


def test_who_waits_in_front_is_not_held_up_by_work_behind_that_rests_for_it(
    trace: Trace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Work behind is reading the log when somebody in front asks for the same jobs. It rests at its
    next report until that has ended, which must not wait for it."""
    reading, asked = threading.Event(), threading.Event()
    requests = Trace.requests

    def slowly(self: Trace, **how: Any) -> Iterator[Request]:
        for number, request in enumerate(requests(self, **how)):
            if number == 100 and not reading.is_set():
                reading.set()
                asked.wait(LONG_S)
            yield request

    monkeypatch.setattr(Trace, "requests", slowly)
    jobs, workshop = FleetJobs(trace), Workshop()
    found: list[Any] = []

    def work(report: Report) -> Answer:
        found.append(jobs.of(fleet(), Progress(report, trace.rows)))
        return {"requests": trace.rows}

    behind = workshop.start("behind", work, behind=True)
    assert reading.wait(LONG_S)
    front = workshop.start("front", work)
    asked.set()

    assert front.wait(LONG_S)
    assert behind.wait(LONG_S)
    assert (front.state, behind.state) == ("done", "done")
    assert all(isinstance(one, KeptJobs) for one in found)


def test_jobs_that_are_read_ahead_are_waited_for_and_read_once(
    trace: Trace, monkeypatch: pytest.MonkeyPatch
) -> None:
    reading, asked = threading.Event(), threading.Event()
    requests, reads = Trace.requests, []

    def slowly(self: Trace, **how: Any) -> Iterator[Request]:
        reads.append(self.rows)
        reading.set()
        asked.wait(LONG_S)
        yield from requests(self, **how)

    monkeypatch.setattr(Trace, "requests", slowly)
    jobs = FleetJobs(trace)
    ahead = threading.Thread(target=jobs.read_ahead)
    ahead.start()
    assert reading.wait(LONG_S)
    reports: list[int] = []

    def report(what: str, done: int, total: int) -> None:
        reports.append(done)
        asked.set()  # once it is known that somebody waits

    assert isinstance(jobs.of(fleet(), Progress(report, trace.rows)), KeptJobs)
    ahead.join(LONG_S)
    assert reads == [REQUESTS]
    assert reports
