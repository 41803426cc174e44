"""When a replay begins, and who moves its time."""

import time

import pytest

from cachecast_replay.clocks import RealClock, VirtualClock

DECADES_NS = 1_795_000_000 * 10**9


def test_only_steps_and_waits_move_a_virtual_clock() -> None:
    clock = VirtualClock()
    clock.wait_until(500)
    clock.step_ended(20)
    clock.wait_until(100)
    assert clock.now_ns() == 520


def test_a_real_clock_begins_with_the_first_arrival(monkeypatch: pytest.MonkeyPatch) -> None:
    """An absolute log's first arrival is decades from its zero: nobody waits for that."""
    wall = [1_000]
    slept: list[float] = []
    monkeypatch.setattr(time, "monotonic_ns", lambda: wall[0])
    monkeypatch.setattr(time, "sleep", slept.append)
    clock = RealClock()
    clock.now_ns()
    clock.wait_until(DECADES_NS)
    assert (clock.now_ns(), slept) == (DECADES_NS, [])
    wall[0] += 3
    clock.wait_until(DECADES_NS + 10**9 + 3)
    assert (clock.now_ns(), slept) == (DECADES_NS + 3, [1.0])


def test_a_pause_after_the_first_step_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr(time, "monotonic_ns", lambda: 1_000)
    monkeypatch.setattr(time, "sleep", slept.append)
    clock = RealClock()
    clock.now_ns()
    clock.step_ended(5)
    clock.wait_until(2 * 10**9)
    assert slept == [2.0]
