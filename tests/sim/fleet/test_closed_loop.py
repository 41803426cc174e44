"""Sessions whose turns wait for their answers."""

from typing import Any

from fleets import MS, asked, fleet, served

from cachecast_sim.fleet.job import Job

TURNS = [[1, 2], [1, 2, 3, 4], [1, 2, 3, 4, 5, 6]]


def turns(session: str, **more: Any) -> list[Any]:
    """Three turns, a second apart in the log, each answered after 0.4 s there."""
    first = 1 if session == "a" else 101
    return [
        asked(
            float(n), [first * 1000 + b for b in blocks], session_id=session, end_s=0.4,
            id=f"{session}{n}", **more,
        )
        for n, blocks in enumerate(TURNS)
    ]  # fmt: skip


def end_of(job: Job) -> int:
    assert job.end_ns is not None
    return job.end_ns


def test_under_overload_a_session_keeps_its_think_time() -> None:
    """Known faults 26 and 35: turns at absolute times lose their pauses when a system lags.

    Each prefill takes 1 s, more than the second between two turns of the log."""
    run = fleet(fleet={"loop": "closed"})
    first, second, third = served(run, *turns("a"))
    pause_ns = 600 * MS  # 1 s between arrivals - 0.4 s of the answer
    assert second.arrival_ns == end_of(first) + pause_ns == 1600 * MS
    assert third.arrival_ns == end_of(second) + pause_ns == 3200 * MS


def test_in_an_open_loop_turns_come_when_the_log_has_them() -> None:
    jobs = served(fleet(), *turns("a"))
    assert [job.arrival_ns for job in jobs] == [0, 1000 * MS, 2000 * MS]


def test_a_stated_think_time_is_taken_as_it_is() -> None:
    first, second, _ = served(fleet(fleet={"loop": "closed"}), *turns("a", think_time_s=0.25))
    assert second.arrival_ns == end_of(first) + 250 * MS


def test_sessions_do_not_wait_for_each_other() -> None:
    both = sorted(turns("a") + turns("b"), key=lambda request: request.arrival_us)
    jobs = served(fleet(fleet={"loop": "closed", "servers": 2}), *both)
    alone = {f"a{n}": end for n, end in enumerate((1000, 2600, 4200))}
    ends = {job.request_id: job.end_ns for job in jobs if job.end_ns is not None}
    assert {name: ends[name] // MS for name in alone} == alone


def test_requests_of_no_session_come_when_the_log_has_them() -> None:
    jobs = served(fleet(fleet={"loop": "closed"}), asked(0, [1]), asked(1, [2]))
    assert [job.arrival_ns for job in jobs] == [0, 1000 * MS]


def test_an_unknown_pause_is_said() -> None:
    run = fleet(fleet={"loop": "closed"})
    log = [asked(float(n), blocks, session_id="a") for n, blocks in enumerate(TURNS)]
    served(run, *log)
    assert any("pauses between turns are unknown" in text for text in run.assumptions())
