"""What a comparison concludes: pass, fail, or that the machine was too noisy to tell."""

from dataclasses import dataclass
from typing import Literal

from cachecast_replay.comparison.errors import Errors
from cachecast_replay.comparison.lock_step import Mismatches

Verdict = Literal["pass", "fail", "inconclusive"]
Mode = Literal["lock_step", "free_running"]

NOISE_LIMIT_PCT = 10.0  # a floor above it at moderate load says more of the machine than of us
TTFT_MEAN_PCT, TTFT_P90_PCT, ITL_MEAN_PCT = 5.0, 10.0, 4.0
STEP_MEAN_PCT, STEP_P90_PCT = 5.0, 10.0  # of the step model, on held-out kinds of step
ROUNDS_PCT = (
    3.0  # processes differ by 1 % (docs/validation.md): rounds, by more, in a restless time
)
FORCED_ITL_MEAN_PCT = 3.0  # on the measured schedule
OF_FLOOR = 1.5


@dataclass(frozen=True, slots=True)
class Floor:
    """What two replays of the same engine differ by."""

    ttft: Errors | None
    itl: Errors | None


def verdict(
    mode: Mode, found: Mismatches, ttft: Errors | None, itl: Errors | None, floor: Floor | None
) -> tuple[Verdict, str]:
    """(verdict, why). Lock-step: any difference fails. Free-running: TTFT mean <= 5 % and p90 <=
    10 %, ITL mean <= 4 %, or within 1.5 times the floor, which counts up to the noise limit."""
    if mode == "lock_step":
        if found.any:
            return "fail", "driven by the same durations, the runs differ"
        return "pass", "driven by the same durations, the runs agree on everything"
    if ttft is None:
        return "inconclusive", "no request was completed by both"
    noise = floor.ttft.mean_abs_pct if floor is not None and floor.ttft is not None else None
    if noise is not None and noise > NOISE_LIMIT_PCT:
        return "inconclusive", (
            f"machine too noisy: two replays differ by {noise:.1f} % in TTFT, expected at most "
            f"{NOISE_LIMIT_PCT:g} %"
        )
    limits = [
        ("TTFT mean", ttft.mean_abs_pct, _limit(TTFT_MEAN_PCT, floor, "ttft", "mean_abs_pct")),
        ("TTFT p90", ttft.p90_abs_pct, _limit(TTFT_P90_PCT, floor, "ttft", "p90_abs_pct")),
    ]
    if itl is not None:
        limits.append(
            ("ITL mean", itl.mean_abs_pct, _limit(ITL_MEAN_PCT, floor, "itl", "mean_abs_pct"))
        )
    over = [f"{name} {value:.1f} % > {most:.1f} %" for name, value, most in limits if value > most]
    if over:
        return "fail", ", ".join(over)
    return "pass", ", ".join(
        f"{name} {value:.1f} % <= {most:.1f} %" for name, value, most in limits
    )


def _limit(goal: float, floor: Floor | None, metric: str, field: str) -> float:
    found = None if floor is None else getattr(floor, metric)
    return goal if found is None else max(goal, OF_FLOOR * float(getattr(found, field)))
