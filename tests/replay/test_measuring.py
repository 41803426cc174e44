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


def test_a_step_is_scaled_by_the_forward_passes_before_and_after_it(
    clock: Callable[..., None],
) -> None:
    """Forward passes of 4.5 and 13.5 ms, 9 on average: twice the reference, so a step that is no
    longer than one counts half. A short step asks for no chunk."""
    assert (FORWARD_NS, CHUNK_NS) == (FORWARD, CHUNK)
    clock(*durations(*WARM_UP, 1_000_000, 13_500_000))
    watch = Stopwatch(PaperProbe())
    took = watch.time(lambda: None)
    assert (took.raw_ns, took.probe_ns, took.duration_ns) == (1_000_000, 13_500_000, 500_000)


def test_the_forward_pass_after_a_step_is_the_one_before_the_next(
    clock: Callable[..., None],
) -> None:
    """9 and 9 ms around the second step: half. The first has 4.5 and 9 around it: two thirds."""
    clock(*durations(*WARM_UP, 3_000_000, 9_000_000, 3_000_000, 9_000_000))
    watch = Stopwatch(PaperProbe())
    found = [watch.time(lambda: None).duration_ns for _ in range(2)]
    assert found == [2_000_000, 1_500_000]


def test_after_a_step_of_more_than_two_forward_passes_a_chunk_is_timed(
    clock: Callable[..., None],
) -> None:
    """Of 9 ms the 4.5 beyond one forward pass are scaled by the chunk of the warm-up: not at all.
    Of 9.000001 ms they are scaled by one of 37 ms, twice the reference: 2.25 ms remain."""
    clock(*durations(*WARM_UP, 9_000_000, FORWARD))
    watch = Stopwatch(PaperProbe())
    took = watch.time(lambda: None)
    assert (took.duration_ns, took.probe_ns) == (9_000_000, FORWARD)
    clock(*durations(9_000_001, FORWARD, 37_000_000))
    took = watch.time(lambda: None)
    assert (took.duration_ns, took.probe_ns) == (6_750_000, FORWARD + 37_000_000)


def test_after_sixteen_short_steps_a_chunk_is_timed_again(clock: Callable[..., None]) -> None:
    """The fifteen before still have that of the warm-up: 9 ms stay 9; then one of twice as long."""
    short = (9_000_000, FORWARD)
    clock(*durations(*WARM_UP, *short * 15, *short, 37_000_000, *short))
    watch = Stopwatch(PaperProbe())
    found = [watch.time(lambda: None).duration_ns for _ in range(17)]
    assert found == [9_000_000] * 15 + [6_750_000] * 2


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
