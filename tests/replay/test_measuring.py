"""Step times and the probe beside them."""

import time
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachecast_replay.measuring import (
    ARITHMETIC_NS,
    FORWARD_NS,
    ForeignLoad,
    ProbeTimes,
    Stopwatch,
)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Let `perf_counter_ns` tell these moments, one after the other."""

    def tell(*moments: int) -> None:
        times: Iterator[int] = iter(moments)
        monkeypatch.setattr(time, "perf_counter_ns", lambda: next(times))

    return tell


def durations(*spans: int) -> list[int]:
    """Moments of spans that are timed one after the other."""
    return [moment for span in spans for moment in (0, span)]


def test_without_a_probe_a_step_lasts_as_long_as_it_lasts(clock: Callable[..., None]) -> None:
    watch = Stopwatch()
    clock(*durations(12_345))
    took = watch.time(lambda: None)
    assert (took.duration_ns, took.raw_ns, took.probe_ns) == (12_345, 12_345, None)


class PaperProbe:
    """Takes no time of its own: the clock of the test does."""

    def forward(self) -> None: ...

    def arithmetic(self) -> None: ...


REFERENCE = (4_500_000, 4_000_000)  # a forward pass, then arithmetic


def test_a_step_is_scaled_by_the_probes_before_and_after_it(clock: Callable[..., None]) -> None:
    """Forward passes of 4.5 and 13.5 ms, 9 on average: twice the reference, so a step that is no
    longer than one counts half. Arithmetic of 8 ms does not touch it."""
    assert (FORWARD_NS, ARITHMETIC_NS) == REFERENCE
    clock(*durations(*REFERENCE * 5, 1_000_000, 13_500_000, 8_000_000))
    watch = Stopwatch(PaperProbe())
    took = watch.time(lambda: None)
    assert (took.raw_ns, took.probe_ns) == (1_000_000, 21_500_000)
    assert took.duration_ns == 500_000


def test_the_probe_after_a_step_is_the_one_before_the_next(clock: Callable[..., None]) -> None:
    """9 and 9 ms around the second step: half. The first has 4.5 and 9 around it: two thirds."""
    slow = (9_000_000, 8_000_000)
    clock(*durations(*REFERENCE * 5, 3_000_000, *slow, 3_000_000, *slow))
    watch = Stopwatch(PaperProbe())
    found = [watch.time(lambda: None).duration_ns for _ in range(2)]
    assert found == [2_000_000, 1_500_000]


def test_what_is_longer_than_a_forward_pass_is_scaled_by_the_arithmetic() -> None:
    """Of 26 ms the first 9 are slowed twice, so 4.5 remain; of the other 17 there remain 8.5 if
    arithmetic takes 8 ms instead of 4, all if it takes 4."""
    assert ProbeTimes(9_000_000, 8_000_000).scaled(26_000_000) == 13_000_000
    assert ProbeTimes(9_000_000, 4_000_000).scaled(26_000_000) == 21_500_000


@pytest.mark.parametrize("raw_ns", [1, 777, 4_500_000, 4_500_001, 90_000_000])
def test_on_the_reference_machine_nothing_is_scaled(
    clock: Callable[..., None], raw_ns: int
) -> None:
    clock(*durations(*REFERENCE * 5, raw_ns, *REFERENCE))
    assert Stopwatch(PaperProbe()).time(lambda: None).duration_ns == raw_ns


@given(
    st.floats(1e5, 1e8), st.floats(1e5, 1e8), st.integers(1, 10**9), st.integers(1, 10**9)
)  # fmt: skip
def test_a_longer_step_is_never_scaled_to_a_shorter_one(
    forward: float, arithmetic: float, one: int, other: int
) -> None:
    around = ProbeTimes(forward, arithmetic)
    short, long = sorted((one, other))
    assert 1 <= around.scaled(short) <= around.scaled(long)


def test_a_step_never_takes_no_time(clock: Callable[..., None]) -> None:
    watch = Stopwatch()
    clock(5, 5)
    assert watch.time(lambda: None).duration_ns == 1


def test_foreign_load_is_a_share_or_unknown() -> None:
    load = ForeignLoad()
    found = load.since_last()
    assert found is None or 0 <= found <= 1
