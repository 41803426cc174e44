"""The goals of a validation: which figure of a workload may be how large, and which ones miss it.

Source of the numbers: docs/validation.md. They are judged on medians over several replays, where a
`verdict` judges one prediction against one replay.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from cachecast_replay.comparison.verdict import (
    FORCED_ITL_MEAN_PCT,
    ITL_MEAN_PCT,
    NOISE_LIMIT_PCT,
    OF_FLOOR,
    STEP_MEAN_PCT,
    STEP_P90_PCT,
    TTFT_MEAN_PCT,
    TTFT_P90_PCT,
)

MODERATE_LOAD, HIGH_LOAD = 0.6, 0.8


@dataclass(frozen=True, slots=True)
class Figure:
    """An error in per cent: its mean and its 90th percentile."""

    mean: float
    p90: float


@dataclass(frozen=True, slots=True)
class Row:
    """A figure and the most that its mean and its p90 may be; None has no goal.

    `floors`: the goals come from two replays' difference. `unjudged`: that difference is so large
    that it says more of the machine than of the prediction.
    """

    name: str
    found: Figure
    most_mean: float | None = None
    most_p90: float | None = None
    floors: bool = False
    unjudged: bool = False

    @property
    def missed(self) -> list[str]:
        """What is too large, each with its goal."""
        if self.unjudged:
            return []
        parts = (
            ("mean", self.found.mean, self.most_mean), ("p90", self.found.p90, self.most_p90),
        )  # fmt: skip
        return [
            f"{self.name} {part} {value:.2f} % > {most:.2f} %"
            for part, value, most in parts if most is not None and value > most
        ]  # fmt: skip

    @property
    def state(self) -> str:
        """`met`, `missed`, `too noisy`, or nothing where there is no goal."""
        if self.most_mean is None:
            return ""
        return "too noisy" if self.unjudged else "missed" if self.missed else "met"

    @property
    def goal(self) -> str:
        """In words: `5 %, 10 %` for mean and p90."""
        mosts = [most for most in (self.most_mean, self.most_p90) if most is not None]
        goals = [f"{_short(most)} %" for most in mosts]
        return ", ".join(goals) + (f" ({OF_FLOOR:g} floors)" if self.floors and goals else "")


def step_model(found: Figure) -> Row:
    """On held-out kinds of step."""
    return Row("step model", found, STEP_MEAN_PCT, STEP_P90_PCT)


def measured_schedule(ttft: Figure, itl: Figure, load: float, *, bursts: bool) -> list[Row]:
    """Goals to a load of 0.8 without bursts; beyond that the figures are only reported."""
    asked = load <= HIGH_LOAD and not bursts
    return [
        Row("TTFT, measured schedule", ttft, TTFT_MEAN_PCT, TTFT_P90_PCT)
        if asked else Row("TTFT, measured schedule", ttft),
        Row("ITL, measured schedule", itl, FORCED_ITL_MEAN_PCT)
        if asked else Row("ITL, measured schedule", itl),
    ]  # fmt: skip


def free_running(
    ttft: tuple[Figure, Figure], itl: tuple[Figure, Figure], load: float, *, bursts: bool
) -> list[Row]:
    """Each with the difference of two replays, the floor.

    To a load of 0.6 without bursts 5 and 10 % of TTFT and 4 % of ITL, or 1.5 floors if that is
    more; else 1.5 floors. A floor whose TTFT is off by more than 10 % on average judges nothing.
    """
    moderate = load <= MODERATE_LOAD and not bursts
    noisy = ttft[1].mean > NOISE_LIMIT_PCT

    def row(name: str, pair: tuple[Figure, Figure], mean: float, p90: float | None) -> Row:
        found, floor = pair
        by_floor = Figure(OF_FLOOR * min(floor.mean, NOISE_LIMIT_PCT), OF_FLOOR * floor.p90)
        most_mean = max(mean, by_floor.mean) if moderate else by_floor.mean
        most_p90 = None if p90 is None else max(p90, by_floor.p90) if moderate else by_floor.p90
        return Row(name, found, most_mean, most_p90, most_mean == by_floor.mean, noisy)

    return [
        row("TTFT, free-running", ttft, TTFT_MEAN_PCT, TTFT_P90_PCT),
        Row("TTFT of two replays", ttft[1]),
        row("ITL, free-running", itl, ITL_MEAN_PCT, None),
        Row("ITL of two replays", itl[1]),
    ]


def table(rows: Sequence[Row], differences: int) -> str:
    """For people: a line a figure, its goal and whether it is met."""
    lines = [f"  {'':31} {'mean':>7} {'p90':>7}   goal (mean, p90)"]
    state = "met" if differences == 0 else "missed"
    lines.append(f"  {'lock-step, differences':31} {differences:7}           {'0':25} {state}")
    lines += [
        f"  {row.name:31} {row.found.mean:5.1f} % {row.found.p90:5.1f} %   "
        f"{row.goal:25} {row.state}".rstrip()
        for row in rows
    ]
    return "\n".join(lines)


def _short(per_cent: float) -> str:
    return f"{per_cent:.1f}".removesuffix(".0")
