"""Step times and the probe beside them."""

import time
from collections.abc import Callable, Iterator

import pytest

from cachecast_replay.measuring import REFERENCE_NS, ForeignLoad, Stopwatch


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


def test_a_step_is_scaled_by_the_probes_before_and_after_it(clock: Callable[..., None]) -> None:
    """Probes of 8 and 24 ms, 16 on average: twice the reference, so the step counts half."""
    assert REFERENCE_NS == 8_000_000
    clock(*durations(*[8_000_000] * 5, 1_000_000, 24_000_000))
    watch = Stopwatch(lambda: None)
    took = watch.time(lambda: None)
    assert (took.raw_ns, took.probe_ns) == (1_000_000, 24_000_000)
    assert took.duration_ns == 500_000


def test_on_the_reference_machine_nothing_is_scaled(clock: Callable[..., None]) -> None:
    clock(*durations(*[8_000_000] * 5, 777, 8_000_000))
    assert Stopwatch(lambda: None).time(lambda: None).duration_ns == 777


def test_a_step_never_takes_no_time(clock: Callable[..., None]) -> None:
    watch = Stopwatch()
    clock(5, 5)
    assert watch.time(lambda: None).duration_ns == 1


def test_foreign_load_is_a_share_or_unknown() -> None:
    load = ForeignLoad()
    found = load.since_last()
    assert found is None or 0 <= found <= 1
