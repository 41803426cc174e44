"""The goals of a validation, as the arithmetic of docs/validation.md."""

from typing import Any

import pytest

from cachecast_replay.comparison.goals import (
    Figure,
    Row,
    free_running,
    measured_schedule,
    step_model,
    table,
)
from cachecast_replay.comparison.medians import judged_rows, raw_rows

EXACT = Figure(0.0, 0.0)


@pytest.mark.parametrize(
    ("found", "missed"),
    [
        (Figure(5.0, 10.0), []),
        (Figure(5.01, 10.0), ["step model mean 5.01 % > 5.00 %"]),
        (Figure(5.0, 10.01), ["step model p90 10.01 % > 10.00 %"]),
    ],
)
def test_the_step_model_has_a_goal_for_mean_and_p90(found: Figure, missed: list[str]) -> None:
    assert step_model(found).missed == missed
    assert step_model(found).state == ("missed" if missed else "met")


@pytest.mark.parametrize(
    ("load", "bursts", "goals"),
    [
        (0.5, False, ["5 %, 10 %", "3 %"]),
        (0.8, False, ["5 %, 10 %", "3 %"]),
        (0.81, False, ["", ""]),
        (0.5, True, ["", ""]),
    ],
)
def test_the_measured_schedule_is_judged_to_a_load_of_0_8_without_bursts(
    load: float, bursts: bool, goals: list[str]
) -> None:
    rows = measured_schedule(Figure(5.1, 9.0), Figure(3.1, 99.0), load, bursts=bursts)
    assert [row.goal for row in rows] == goals
    assert [row.state for row in rows] == (["missed", "missed"] if goals[0] else ["", ""])


@pytest.mark.parametrize(
    ("load", "bursts", "floor", "goals"),
    [
        # 1.5 floors of 2 and 4 % are less than 5 and 10 %, those of 4 and 8 % are more
        (0.6, False, Figure(2.0, 4.0), ["5 %, 10 %", "4 %"]),
        (0.6, False, Figure(4.0, 8.0), ["6 %, 12 % (1.5 floors)", "6 % (1.5 floors)"]),
        (0.61, False, Figure(2.0, 4.0), ["3 %, 6 % (1.5 floors)", "3 % (1.5 floors)"]),
        (0.5, True, Figure(2.0, 4.0), ["3 %, 6 % (1.5 floors)", "3 % (1.5 floors)"]),
    ],
)
def test_free_running_is_judged_by_the_floor_at_high_load_and_in_bursts(
    load: float, bursts: bool, floor: Figure, goals: list[str]
) -> None:
    rows = free_running((EXACT, floor), (EXACT, floor), load, bursts=bursts)
    assert [row.goal for row in rows] == [goals[0], "", goals[1], ""]
    assert [row.state for row in rows] == ["met", "", "met", ""]


@pytest.mark.parametrize(("floor", "state"), [(10.0, "missed"), (10.01, "too noisy")])
def test_a_floor_above_ten_per_cent_judges_nothing(floor: float, state: str) -> None:
    far = Figure(50.0, 50.0)
    rows = free_running((far, Figure(floor, 20.0)), (far, Figure(1.0, 1.0)), 0.5, bursts=False)
    assert [row.state for row in rows] == [state, "", state, ""]
    assert bool(rows[0].missed) == (state == "missed")


def test_the_table_has_a_line_a_figure_with_its_goal() -> None:
    rows = [Row("TTFT", Figure(2.25, 11.0), 5.0, 10.0), Row("its floor", Figure(1.0, 2.0))]
    assert table(rows, 2).splitlines()[1:] == [
        "  lock-step, differences                2           0                         missed",
        "  TTFT                              2.2 %  11.0 %   5 %, 10 %                 missed",
        "  its floor                         1.0 %   2.0 %",
    ]


def errors(mean: float, floor: float) -> dict[str, float]:
    return {
        "mean_abs_pct": mean, "p90_abs_pct": 2 * mean, "noise_floor_pct": floor,
        "noise_floor_p90_pct": 2 * floor,
    }  # fmt: skip


def compared(number: int, raw: bool = True) -> dict[str, Any]:
    """A comparison whose errors all grow with its number."""
    both = {"ttft": errors(number, 10 + number), "itl": errors(20 + number, 30 + number)}
    return {**both, "teacher_forced": both, "raw_clock": both if raw else None}


def test_figures_are_medians_over_the_replays() -> None:
    """Of 1, 9 and 2 it is 2; of p90, twice as much, 4."""
    found = [compared(1), compared(9), compared(2)]
    rows = judged_rows(found, 0.5, bursts=False)
    assert [row.found for row in rows] == [
        Figure(2, 4), Figure(22, 44), Figure(2, 4), Figure(12, 24), Figure(22, 44), Figure(32, 64),
    ]  # fmt: skip
    assert [(row.name, row.found) for row in raw_rows(found)] == [
        ("TTFT, raw clock", Figure(2, 4)),
        ("TTFT of two replays, raw clock", Figure(12, 24)),
        ("ITL, raw clock", Figure(22, 44)),
        ("ITL of two replays, raw clock", Figure(32, 64)),
    ]


def test_without_a_normalised_clock_there_is_no_raw_one_beside_it() -> None:
    assert raw_rows([compared(1), compared(2, raw=False)]) == []
