"""Errors, the noise floor, lock-step differences and the verdict, in numbers by hand."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from latency_models import fitted_with

from cachecast_replay.comparison.errors import Errors, errors, rank_correlation
from cachecast_replay.comparison.lock_step import Mismatches, mismatches
from cachecast_replay.comparison.runs import Requests, Steps
from cachecast_replay.comparison.teacher_forced import (
    predicted_durations,
    raw_durations,
    retimed,
    teacher_forced,
)
from cachecast_replay.comparison.verdict import Floor, verdict
from cachecast_sim.latency.fitted import FittedModel
from cachecast_sim.latency.linear import LinearModel
from cachecast_sim.latency.model import LatencyModel

NONE = Mismatches([], [], [], None)


def array(*values: float) -> Any:
    return np.array(values, dtype=np.float64)


def requests(**changed: Any) -> Requests:
    """Two requests of 4 tokens, 3 put out, that hit 2; times are given."""
    given: dict[str, Any] = {
        "ids": ["a", "b"], "prompt_tokens": [4, 4], "output_tokens": [3, 1],
        "hit_tokens": [2, 2], "readmission_hit_tokens": [(), ()], "preemptions": [0, 0],
        "arrival_ns": [0, 0], "first_token_ns": [10, 20], "end_ns": [30, 20], **changed,
    }  # fmt: skip
    lists = ("ids", "readmission_hit_tokens")
    columns: dict[str, Any] = {
        k: v if k in lists else np.array(v, np.int64) for k, v in given.items()
    }
    return Requests(**columns)


def test_errors_are_relative_to_what_was_measured() -> None:
    found = errors(array(110, 90, 100, 100), array(100, 100, 100, 200))
    assert found is not None
    assert found.mean_abs_pct == pytest.approx((10 + 10 + 0 + 50) / 4)
    assert found.bias_pct == pytest.approx((10 - 10 + 0 - 50) / 4)
    assert found.p50_abs_pct == pytest.approx(10)


def test_what_one_side_does_not_know_is_left_out() -> None:
    found = errors(array(110, np.nan), array(100, 5))
    assert found is not None
    assert (found.requests, found.rank_correlation) == (1, None)
    assert errors(array(np.nan), array(1)) is None


def test_rank_correlation_looks_at_order_alone() -> None:
    assert rank_correlation(array(1, 2, 3), array(10, 200, 3000)) == pytest.approx(1)
    assert rank_correlation(array(1, 2, 3), array(3, 2, 1)) == pytest.approx(-1)
    # ties share their mean rank: 1.5, 1.5, 3 against 1, 2, 3 is sqrt(3)/2
    assert rank_correlation(array(5, 5, 9), array(1, 2, 3)) == pytest.approx(3**0.5 / 2)
    assert rank_correlation(array(5, 5), array(1, 2)) is None


def test_itl_is_the_time_between_tokens_and_unknown_for_a_single_one() -> None:
    itl = requests().itl_ns
    assert itl[0] == (30 - 10) / 2
    assert np.isnan(itl[1])


def test_each_kind_of_difference_is_named_by_its_requests() -> None:
    one = requests()
    other = requests(hit_tokens=[2, 0], readmission_hit_tokens=[(1,), ()], preemptions=[1, 0])
    found = mismatches(one, other, (None, None))
    assert (found.hit_tokens, found.readmission_hit_tokens, found.preemptions) == (
        ["b"], ["a"], ["a"],
    )  # fmt: skip
    assert found.any
    assert not mismatches(one, one, (None, None)).any


def steps(*work: tuple[int, int, int, int, int, int], duration: int = 10) -> Steps:
    count = len(work)
    starts = np.arange(count, dtype=np.int64) * duration
    return Steps(starts, np.full(count, duration, np.int64), np.array(work, dtype=np.int64))


A, B = (4, 1, 10, 0, 0, 4), (0, 0, 0, 1, 5, 8)


def test_a_step_that_computes_something_else_differs_and_so_does_one_too_many() -> None:
    one = requests()
    assert mismatches(one, one, (steps(A, B), steps(A, B))).steps == 0
    assert mismatches(one, one, (steps(A, B), steps(A, A))).first_step == 1
    longer = mismatches(one, one, (steps(A, B), steps(A, B, B)))
    assert (longer.steps, longer.first_step) == (1, 2)


def equal_steps(duration_ns: int) -> LatencyModel:
    return LinearModel(Decimal(duration_ns) / 10**9, Decimal(0))


def test_a_model_hears_what_each_measured_step_held() -> None:
    """1 ms and 1 us for each held token, of which the two steps have 4 and 8."""
    free = fitted_with(
        knots=[1], new_token=[0], prefill_request=0, decode_request=0, prefill_pair=0,
        decode_context_token=0, held_token=1e-6,
    )  # fmt: skip
    durations = predicted_durations(steps(A, B), FittedModel(free, "f"))
    assert durations.tolist() == [1_004_000, 1_008_000]


def test_steps_that_held_something_else_differ() -> None:
    shared = (*B[:5], 4)
    assert mismatches(requests(), requests(), (steps(B), steps(shared))).steps == 1


def test_teacher_forced_replaces_durations_and_keeps_the_schedule() -> None:
    """Three steps of 10 ns, of which the model thinks 12. `a` arrives with the first, its first
    token comes with it and its last with the third. `b` arrives at 15, in the second: it waits 5
    for its end, and the third step gives its only token."""
    run = steps(A, B, B)
    found = requests(arrival_ns=[0, 15], first_token_ns=[10, 30], end_ns=[30, 30])
    durations = predicted_durations(run, equal_steps(12))
    ttft, itl = teacher_forced(found, run, durations)
    assert ttft is not None
    assert itl is not None
    # a: 12 for 10; b: 5 + 12 for 15
    assert ttft.mean_abs_pct == pytest.approx((20 + 100 * 2 / 15) / 2)
    assert itl.mean_abs_pct == pytest.approx(20)  # (12 + 12) / 2 for 10


def test_a_request_that_arrives_at_a_boundary_waits_for_nothing() -> None:
    run = steps(A, B)
    found = requests(arrival_ns=[10, 10], first_token_ns=[20, 20], end_ns=[20, 20])
    ttft, _ = teacher_forced(found, run, predicted_durations(run, equal_steps(10)))
    assert ttft is not None
    assert ttft.mean_abs_pct == 0


def test_raw_durations_keep_the_drift_and_lose_the_machines_speed() -> None:
    """The machine is twice as slow as the probe's scale, and in the second step a tenth slower
    still, which the normalised 10 ns do not show: 20, 22 and 20 ns become 10, 11 and 10."""
    run = replace(steps(A, B, B), raw_ns=np.array([20, 22, 20], dtype=np.int64))
    raw = raw_durations(run)
    assert raw is not None
    assert raw.tolist() == [10, 11, 10]
    assert raw_durations(steps(A, B)) is None
    found = requests(arrival_ns=[0, 15], first_token_ns=[10, 30], end_ns=[30, 30])
    ttft, itl = retimed(found, run, raw)
    assert ttft.tolist() == [10, 5 + 10]  # b waits the rest of the second step, then the third
    assert itl[0] == (11 + 10) / 2


def off(mean: float, p90: float | None = None) -> Errors:
    return Errors(9, mean, mean, mean if p90 is None else p90, mean, 0.0, None)


def test_lock_step_fails_on_any_difference() -> None:
    assert verdict("lock_step", NONE, None, None, None)[0] == "pass"
    wrong = Mismatches([], [], [], 1)
    assert verdict("lock_step", wrong, None, None, None)[0] == "fail"


@pytest.mark.parametrize(
    ("ttft", "itl", "expected"),
    [
        (off(5.0, 10.0), off(4.0), "pass"),
        (off(5.1, 10.0), off(4.0), "fail"),
        (off(5.0, 10.1), off(4.0), "fail"),
        (off(5.0, 10.0), off(4.1), "fail"),
    ],
)
def test_without_a_floor_the_goals_hold_as_they_are(
    ttft: Errors, itl: Errors, expected: str
) -> None:
    assert verdict("free_running", NONE, ttft, itl, None)[0] == expected


def test_a_noisy_machine_widens_the_goal_to_one_and_a_half_floors() -> None:
    floor = Floor(off(6.0, 12.0), off(3.0))
    assert verdict("free_running", NONE, off(9.0, 18.0), off(4.5), floor)[0] == "pass"
    assert verdict("free_running", NONE, off(9.1, 18.0), off(4.5), floor)[0] == "fail"


def test_a_machine_that_is_too_noisy_is_never_a_pass() -> None:
    found, why = verdict("free_running", NONE, off(1.0), off(1.0), Floor(off(10.1), None))
    assert found == "inconclusive"
    assert "two replays differ by 10.1 %" in why
    assert verdict("free_running", NONE, off(1.0), off(1.0), Floor(off(10.0), None))[0] == "pass"
