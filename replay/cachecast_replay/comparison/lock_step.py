"""Driven by the same durations, simulator and engine must agree on everything."""

from dataclasses import dataclass

import numpy as np

from cachecast_replay.comparison.runs import Requests, Steps


@dataclass(frozen=True, slots=True)
class Mismatches:
    """The requests, by id, that two runs treat differently, and how many steps differ.

    `steps` is None where one of the runs has none. A step that only one of the runs has differs.
    """

    hit_tokens: list[str]
    readmission_hit_tokens: list[str]
    preemptions: list[str]
    steps: int | None
    first_step: int | None = None

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
    hits = np.flatnonzero(predicted.hit_tokens != measured.hit_tokens).tolist()
    preempted = np.flatnonzero(predicted.preemptions != measured.preemptions).tolist()
    pairs = zip(predicted.readmission_hit_tokens, measured.readmission_hit_tokens, strict=True)
    again = [number for number, (one, other) in enumerate(pairs) if one != other]
    differing, first = _differing_steps(*steps)
    return Mismatches(
        [ids[n] for n in hits], [ids[n] for n in again], [ids[n] for n in preempted],
        differing, first,
    )  # fmt: skip


def _differing_steps(one: Steps | None, other: Steps | None) -> tuple[int | None, int | None]:
    if one is None or other is None:
        return None, None
    common = min(len(one), len(other))
    wrong = np.flatnonzero((one.work[:common] != other.work[:common]).any(axis=1))
    extra = abs(len(one) - len(other))
    first = int(wrong[0]) if len(wrong) else (common if extra else None)
    return len(wrong) + extra, first
