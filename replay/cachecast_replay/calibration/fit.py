"""From measured steps to coefficients: non-negative least squares on the relative error."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import numpy.typing as npt
from scipy.optimize import nnls

from cachecast_datasets.errors import BadInput
from cachecast_replay.calibration.measure import Counts, Sample
from cachecast_sim.latency.features import KNOTS, features
from cachecast_sim.latency.fitted_file import RANGES, Coefficients, HeldOutError, ValidRange

Floats = npt.NDArray[np.float64]
_HELD_OUT = 5  # every fifth kind of step is not fitted, only judged
NS = 1e9


@dataclass(frozen=True, slots=True)
class Fit:
    """Coefficients in seconds, the ranges that they hold in, and their error on held-out steps.

    `round_levels_pct` is by how much each round's steps took longer than the mean over the rounds;
    empty for a single round, which nothing can be compared with.
    """

    coefficients: Coefficients
    valid: ValidRange
    held_out: HeldOutError
    fitted: HeldOutError
    steps: int
    round_levels_pct: list[float]


def fit(rounds: Sequence[Sequence[Sample]], knots: Sequence[int] = KNOTS) -> Fit:
    """Fitted on the medians of each kind of step over the rounds. BadInput for too few.

    Only knots that some step goes beyond are used: what lies behind the others was not measured,
    and a slope of 0 there would predict that a larger step takes no longer.
    """
    samples = list(chain.from_iterable(rounds))
    counts, seconds = _medians(samples)
    largest = max((row[0] + row[3] for row in counts), default=0)
    knots = [knot for knot in knots if knot < largest] or list(knots[:1])
    held = np.arange(len(seconds)) % _HELD_OUT == _HELD_OUT - 1
    if (~held).sum() < 2 * (len(knots) + 6):
        raise BadInput(
            f"{len(seconds)} kinds of step were measured, expected at least "
            f"{3 * (len(knots) + 6)}: give the calibration more time"
        )
    rows = np.array([features(*row, knots) for row in counts], dtype=np.float64)
    found = _solve(rows[~held], seconds[~held])
    slopes = len(knots)
    constant, *rest = (float(value) for value in found)
    names = (
        "prefill_request", "decode_request", "prefill_pair", "decode_context_token", "held_token",
    )  # fmt: skip
    coefficients = Coefficients(
        constant=constant, knots=list(knots), new_token=rest[:slopes],
        **dict(zip(names, rest[slopes:], strict=True)),
    )  # fmt: skip
    return Fit(
        coefficients, _ranges(counts), _judged(rows[held] @ found, seconds[held]),
        _judged(rows[~held] @ found, seconds[~held]), len(samples), levels_pct(rounds),
    )  # fmt: skip


def levels_pct(rounds: Sequence[Sequence[Sample]]) -> list[float]:
    """By how many per cent the steps of each round took longer than the geometric mean of all.

    The median over the kinds of step that every round measured. A round that ended before half of
    them is left out; [] if no two are left.
    """
    times = [{(s.scene, s.point): s.duration_ns for s in samples} for samples in rounds]
    times = [each for each in times if 2 * len(each) >= len(times[0])]
    if len(times) < 2:
        return []
    shared = set.intersection(*(set(each) for each in times))
    logs = np.log([[each[kind] for kind in sorted(shared)] for each in times])
    levels = np.median(logs - logs.mean(axis=0), axis=1)
    return [100 * float(level) for level in np.expm1(levels)]


def _medians(samples: Sequence[Sample]) -> tuple[list[Counts], Floats]:
    """Per kind of step the counts of its middle sample and the median of its times, shuffled into
    an order that has nothing to do with size."""
    kinds: dict[tuple[int, int], list[Sample]] = defaultdict(list)
    for sample in samples:
        kinds[sample.scene, sample.point].append(sample)
    order = np.random.default_rng(0).permutation(len(kinds))
    groups = [list(kinds.values())[number] for number in order]
    counts = []
    for group in groups:
        middle = sorted(group, key=lambda sample: sample.counts[4])[len(group) // 2]
        counts.append(middle.counts)
    times = [float(np.median([sample.duration_ns for sample in group])) / NS for group in groups]
    return counts, np.array(times, dtype=np.float64)


def _solve(rows: Floats, seconds: Floats) -> Floats:
    """Each row divided by its time, so that a short step counts as much as a long one; each column
    scaled to its own size, since pairs are a million times as many as requests."""
    relative = rows / seconds[:, None]
    scale = np.linalg.norm(relative, axis=0)
    scale[scale == 0] = 1.0
    found, _ = nnls(relative / scale, np.ones(len(seconds)), maxiter=100 * rows.shape[1])
    return np.asarray(found / scale, dtype=np.float64)


def _judged(predicted: Floats, measured: Floats) -> HeldOutError:
    error = 100 * np.abs(predicted - measured) / measured
    return HeldOutError(len(measured), float(error.mean()), float(np.quantile(error, 0.9)))


def _ranges(counts: Sequence[tuple[int, ...]]) -> ValidRange:
    """Of each count the least and most among steps that had any of it."""
    table = np.array(counts, dtype=np.int64)
    columns = {
        "new_tokens": table[:, 0] + table[:, 3],
        "prefill_requests": table[:, 1],
        "decode_requests": table[:, 3],
        "prefill_pairs": table[:, 2],
        "decode_context": table[:, 4],
    }
    found = {}
    for name in RANGES:
        some = columns[name][columns[name] > 0]
        found[name] = (int(some.min()), int(some.max())) if len(some) else (0, 0)
    return ValidRange(**found)
