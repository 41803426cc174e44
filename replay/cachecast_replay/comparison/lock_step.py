"""Driven by the same durations, simulator and engine must agree on everything."""

from dataclasses import dataclass, field

import numpy as np

from cachecast_replay.comparison.runs import Floats, Requests, Steps


@dataclass(frozen=True, slots=True)
class Mismatches:
    """The requests, by id, that two runs treat differently, and how many steps differ.

    What one of the runs does not know is left out: `unknown_hits` names the requests whose hit
    tokens cannot be compared. `steps` is None where one of the runs has none. A step that only one
    of the runs has differs.
    """

    hit_tokens: list[str]
    readmission_hit_tokens: list[str]
    preemptions: list[str]
    steps: int | None
    first_step: int | None = None
    unknown_hits: list[str] = field(default_factory=list)

    @property
    def any(self) -> bool:
        return bool(
            self.hit_tokens or self.readmission_hit_tokens or self.preemptions or self.steps
        )


def mismatches(
    predicted: Requests, measured: Requests, steps: tuple[Steps | None, Steps | None]
) -> Mismatches:
    """Of the same requests in the same order."""
    ids = predicted.ids
    hits = _differing(predicted.hit_tokens, measured.hit_tokens)
    preempted = _differing(predicted.preemptions, measured.preemptions)
    unknown = np.flatnonzero(~np.isfinite(predicted.hit_tokens + measured.hit_tokens)).tolist()
    pairs = zip(predicted.readmission_hit_tokens, measured.readmission_hit_tokens, strict=True)
    again = [
        number for number, (one, other) in enumerate(pairs)
        if one is not None and other is not None and one != other
    ]  # fmt: skip
    differing, first = _differing_steps(*steps)
    return Mismatches(
        [ids[n] for n in hits], [ids[n] for n in again], [ids[n] for n in preempted],
        differing, first, [ids[n] for n in unknown],
    )  # fmt: skip


def _differing(one: Floats, other: Floats) -> list[int]:
    """Where both are known and not equal."""
    found: list[int] = np.flatnonzero(np.isfinite(one + other) & (one != other)).tolist()
    return found


def _differing_steps(one: Steps | None, other: Steps | None) -> tuple[int | None, int | None]:
    if one is None or other is None:
        return None, None
    common = min(len(one), len(other))
    wrong = np.flatnonzero((one.work[:common] != other.work[:common]).any(axis=1))
    extra = abs(len(one) - len(other))
    first = int(wrong[0]) if len(wrong) else (common if extra else None)
    return len(wrong) + extra, first
