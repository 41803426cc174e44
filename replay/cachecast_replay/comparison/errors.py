"""How far a prediction is from what was measured."""

from dataclasses import dataclass

import numpy as np

from cachecast_replay.comparison.runs import Floats


@dataclass(frozen=True, slots=True)
class Errors:
    """Relative errors in per cent, over requests; `bias_pct` keeps the sign (positive: predicted
    too long). `rank_correlation` is Spearman's, None where nothing varies."""

    requests: int
    mean_abs_pct: float
    p50_abs_pct: float
    p90_abs_pct: float
    p99_abs_pct: float
    bias_pct: float
    rank_correlation: float | None


def errors(predicted: Floats, measured: Floats) -> Errors | None:
    """Of pairs that are both known and measured above zero; None without any."""
    kept = np.isfinite(predicted) & np.isfinite(measured) & (measured > 0)
    if not kept.any():
        return None
    found, truth = predicted[kept], measured[kept]
    relative = 100 * (found - truth) / truth
    size = np.abs(relative)
    p50, p90, p99 = np.quantile(size, (0.5, 0.9, 0.99))
    return Errors(
        int(kept.sum()), float(size.mean()), float(p50), float(p90), float(p99),
        float(relative.mean()), rank_correlation(found, truth),
    )  # fmt: skip


def rank_correlation(first: Floats, second: Floats) -> float | None:
    """Spearman's: the correlation of ranks, equal values sharing their mean rank."""
    if len(first) < 2 or np.ptp(first) == 0 or np.ptp(second) == 0:
        return None
    return float(np.corrcoef(_ranks(first), _ranks(second))[0, 1])


def _ranks(values: Floats) -> Floats:
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    means = ends - (counts - 1) / 2
    return np.asarray(means[place], dtype=np.float64)
