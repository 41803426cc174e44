"""`cachecast replay --endpoint`: when requests are sent, what comes before them, and Ctrl-C."""

import os
import signal
import threading
import time
from itertools import count
from pathlib import Path

import pytest
from conftest import RunCli
from endpoint_replays import LOG, refused, replayed, rows_of, write_rows
from fake_server import Body, Handler, answer, limit, serving

from cachecast_replay.endpoint.answers import Answer, AnswerTotals

pytest.importorskip("httpx", reason="httpx is not installed: --endpoint needs it")


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return write_rows(tmp_path / "log.jsonl", LOG)


@pytest.mark.parametrize(("cap", "busiest"), [(1, 1), (2, 2), (None, 3)])
def test_no_more_requests_are_in_flight_than_the_cap(
    run_cli: RunCli, log: Path, cap: int | None, busiest: int
) -> None:
    """Each waits until as many are there as can be: the three arrive within 20 ms."""
    waiting = threading.Semaphore(0)
    arrived = count(1)

    def act(handler: Handler, body: Body) -> None:
        if limit(body) != 2 and next(arrived) <= busiest:
            if handler.server.fake.busy >= busiest:
                waiting.release(busiest)
            assert waiting.acquire(timeout=10)
        answer(handler, body)

    with serving(act) as server:
        options = () if cap is None else ("--concurrency", cap)
        replayed(run_cli, log, server, *options)
    assert server.busiest == busiest
    assert len(server.asked) == 3


def test_arrivals_are_honoured_and_sped_up(run_cli: RunCli, tmp_path: Path) -> None:
    """200 ms between two requests, or 2 ms: never earlier, whatever the machine is busy with."""
    log = tmp_path / "log.jsonl"
    rows = [{**LOG[0], "timestamp": 1000}, {**LOG[1], "timestamp": 1200}]
    write_rows(log, rows)
    gaps = []
    for number, speed in enumerate((1, 100)):
        run = tmp_path / f"run{number}"
        with serving(answer) as server:
            replayed(run_cli, log, server, "--speed-up", speed, "-o", run)
        first, second = rows_of(run_cli, run)
        assert first["sent_ns"] >= first["arrival_us"] * 1000 == 10**9 // speed
        assert second["sent_ns"] >= second["arrival_us"] * 1000 == 12 * 10**8 // speed
        gaps.append(second["sent_ns"] - first["arrival_us"] * 1000)
    assert gaps[0] >= 200_000_000


def test_in_a_closed_loop_a_turn_waits_for_the_answer_before_it(
    run_cli: RunCli, tmp_path: Path
) -> None:
    """The log has the second turn 10 ms after the first; the answer takes longer."""
    log = tmp_path / "log.jsonl"
    rows = [
        {"at": 0.0, "took": 0.005, "session": "s", "model": "m", "output": 3,
         "prompt": [["user", "Q1", 40]]},
        {"at": 0.010, "took": 0.005, "session": "s", "model": "m", "output": 4,
         "prompt": [["user", "Q1", 40], ["user", "Q2", 40]]},
    ]  # fmt: skip
    write_rows(log, rows)

    def slow(handler: Handler, body: Body) -> None:
        time.sleep(0.05)
        answer(handler, body)

    with serving(slow) as server:
        replayed(run_cli, log, server, "--loop", "closed", "-o", tmp_path / "run")
    first, second = rows_of(run_cli, tmp_path / "run")
    assert server.busiest == 1
    # the caller's pause of 5 ms after the answer
    assert second["arrival_us"] * 1000 >= first["end_ns"] + 5_000_000 - 1000


def test_warm_up_and_reset_come_before_the_log_and_are_not_measured(
    run_cli: RunCli, log: Path
) -> None:
    """Known faults 25 and 39: a warm server against a cold simulation, and a slow first run. A
    server that holds blocks a moment longer is asked again."""
    with serving(answer) as server:
        server.posts = {"/reset": [{"success": False}, {"success": True}]}
        options = ("--warm-up", 2, "--reset-cache", "/reset", "--concurrency", 1)
        found = replayed(run_cli, log, server, *options)
    assert found["requests"] == 3
    assert [limit(body) for _, body in server.seen] == [2, 16, 16, 3, 4, 5]
    assert server.resets == 2


def test_a_reset_that_the_server_does_not_know_is_refused(run_cli: RunCli, log: Path) -> None:
    def act(handler: Handler, body: Body) -> None:
        (answer if body else lambda h, b: h.refuse(404, "no such path"))(handler, body)

    with serving(act) as server:
        said = refused(run_cli, log, "--endpoint", server.url, "--reset-cache", "/flush")
    assert said.startswith("--reset-cache /flush: http://127.0.0.1:")
    assert "answered 404: no such path; vLLM has it where VLLM_SERVER_DEV_MODE=1 was set" in said


def test_ctrl_c_keeps_what_was_measured(
    run_cli: RunCli, log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The third request hangs; the signal comes when the client has counted the two before it."""
    done = threading.Event()
    counted = threading.Semaphore(0)
    add = AnswerTotals.add

    def add_and_tell(totals: AnswerTotals, one: Answer) -> None:
        add(totals, one)
        counted.release()

    monkeypatch.setattr(AnswerTotals, "add", add_and_tell)

    def act(handler: Handler, body: Body) -> None:
        if limit(body) == 5:
            assert counted.acquire(timeout=10)
            assert counted.acquire(timeout=10)
            os.kill(os.getpid(), signal.SIGINT)
            done.wait(10)
        else:
            answer(handler, body)

    # what runs in the background of a shell ignores SIGINT, and so would these tests there
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with serving(act) as server:
            found = replayed(run_cli, log, server, "-o", tmp_path / "run")
            done.set()
    finally:
        signal.signal(signal.SIGINT, before)
    assert (found["requests"], found["partial"]) == (2, True)
    assert [row["request_id"] for row in rows_of(run_cli, tmp_path / "run")] == ["1", "2"]
