"""Step times and the probe beside them."""

import time
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachecast_replay.measuring import CHUNK_NS, FORWARD_NS, ForeignLoad, Stopwatch, scaled


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

    def chunk(self) -> None: ...


FORWARD, CHUNK = 4_500_000, 18_500_000
WARM_UP = (FORWARD,) * 5 + (CHUNK,) * 5


def test_a_step_is_scaled_by_the_median_of_three_forward_passes(
    clock: Callable[..., None],
) -> None:
    """Two before it and the one after. The first pass of 9 ms, twice the reference, is alone; with
    the second the median is 9 and a step that is no longer than one counts half, also once a
    single one takes 4.5 again. A short step asks for no chunk."""
    assert (FORWARD_NS, CHUNK_NS) == (FORWARD, CHUNK)
    passes = (9_000_000, 9_000_000, FORWARD, FORWARD)
    steps = [span for forward in passes for span in (1_000_000, forward)]
    clock(*durations(*WARM_UP, *steps))
    watch = Stopwatch(PaperProbe())
    found = [watch.time(lambda: None) for _ in passes]
    assert [step.duration_ns for step in found] == [1_000_000, 500_000, 500_000, 1_000_000]
    assert [step.probe_ns for step in found] == list(passes)
    assert {step.raw_ns for step in found} == {1_000_000}


def test_a_probe_that_was_interrupted_leaves_its_step_as_it_is(clock: Callable[..., None]) -> None:
    """A forward pass of a minute, then a chunk of a minute: neither is the median of three."""
    minute = 60_000_000_000
    clock(*durations(*WARM_UP, 4_000_000, minute, 40_000_000, FORWARD, minute))
    watch = Stopwatch(PaperProbe())
    found = [watch.time(lambda: None) for _ in range(2)]
    assert [step.duration_ns for step in found] == [4_000_000, 40_000_000]
    assert [step.probe_ns for step in found] == [minute, FORWARD + minute]


def test_after_a_step_of_more_than_two_forward_passes_a_chunk_is_timed(
    clock: Callable[..., None],
) -> None:
    """Of 9 ms the 4.5 beyond one forward pass are scaled by the chunks of the warm-up: not at all.
    Two steps of 9.000001 ms time a chunk each, of 37 ms: with the second it is the median, twice
    the reference, and 2.25 ms remain."""
    clock(*durations(*WARM_UP, 9_000_000, FORWARD))
    watch = Stopwatch(PaperProbe())
    took = watch.time(lambda: None)
    assert (took.duration_ns, took.probe_ns) == (9_000_000, FORWARD)
    clock(*durations(*(9_000_001, FORWARD, 37_000_000) * 2))
    found = [watch.time(lambda: None) for _ in range(2)]
    assert [step.duration_ns for step in found] == [9_000_001, 6_750_000]
    assert {step.probe_ns for step in found} == {FORWARD + 37_000_000}


def test_after_sixteen_short_steps_a_chunk_is_timed_again(clock: Callable[..., None]) -> None:
    """9 ms stay 9 until the second chunk of 37 ms, after the 32nd step: then 6.75."""
    short = (9_000_000, FORWARD)
    sixteen = (*short * 16, 37_000_000)
    clock(*durations(*WARM_UP, *sixteen, *sixteen, *short))
    watch = Stopwatch(PaperProbe())
    found = [watch.time(lambda: None).duration_ns for _ in range(33)]
    assert found == [9_000_000] * 31 + [6_750_000] * 2


def test_what_is_longer_than_a_forward_pass_is_scaled_like_a_chunk() -> None:
    """Of 26 ms the first 9 are slowed twice, so 4.5 remain; of the other 17 there remain 8.5 if a
    chunk takes 37 ms instead of 18.5, all if it takes 18.5."""
    assert scaled(26_000_000, 9_000_000, 37_000_000) == 13_000_000
    assert scaled(26_000_000, 9_000_000, 18_500_000) == 21_500_000


@pytest.mark.parametrize("raw_ns", [1, 777, 4_500_000, 4_500_001, 90_000_000])
def test_on_the_reference_machine_nothing_is_scaled(
    clock: Callable[..., None], raw_ns: int
) -> None:
    clock(*durations(*WARM_UP, raw_ns, FORWARD, CHUNK))
    assert Stopwatch(PaperProbe()).time(lambda: None).duration_ns == raw_ns


@given(
    st.floats(1e5, 1e8), st.floats(1e5, 1e8), st.integers(1, 10**9), st.integers(1, 10**9)
)  # fmt: skip
def test_a_longer_step_is_never_scaled_to_a_shorter_one(
    forward: float, chunk: float, one: int, other: int
) -> None:
    short, long = sorted((one, other))
    assert 1 <= scaled(short, forward, chunk) <= scaled(long, forward, chunk)


def test_a_step_never_takes_no_time(clock: Callable[..., None]) -> None:
    watch = Stopwatch()
    clock(5, 5)
    assert watch.time(lambda: None).duration_ns == 1


def test_foreign_load_is_a_share_or_unknown() -> None:
    load = ForeignLoad()
    found = load.since_last()
    assert found is None or 0 <= found <= 1
