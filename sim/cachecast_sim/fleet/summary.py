"""The totals of a fleet run: tokens, latencies, GPU time."""

from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from cachecast_datasets.errors import RequestFault
from cachecast_sim.fleet.gaps import GapCounts
from cachecast_sim.fleet.job import Job

NS = 1_000_000_000
_LAST_NS = (1 << 63) - 1  # what a table of results can hold: 292 years


@dataclass(frozen=True, slots=True)
class Spread:
    """Mean and quantiles in seconds; linear interpolation between the two nearest values."""

    mean: float
    p50: float
    p90: float
    p99: float


@dataclass(slots=True)
class FleetTotals:
    """Sums over jobs that have ended. Tokens are those of jobs that were admitted.

    Times are kept in 8 bytes a request and measure, for the quantiles.
    """

    requests: int = 0
    completed: int = 0
    rejected: int = 0
    prompt_tokens: int = 0
    hit_tokens: int = 0
    loaded_tokens: int = 0
    readmission_hit_tokens: int = 0
    output_tokens: int = 0
    first_arrival_ns: int | None = None
    last_end_ns: int = 0
    misses: Counter[str] = field(default_factory=Counter)
    missed_requests: Counter[str] = field(default_factory=Counter)
    ttft_ns: "array[int]" = field(default_factory=lambda: array("q"))
    e2e_ns: "array[int]" = field(default_factory=lambda: array("q"))

    def add(self, job: Job) -> None:
        """One more job that has ended."""
        self.requests += 1
        if self.first_arrival_ns is None or job.arrival_ns < self.first_arrival_ns:
            self.first_arrival_ns = job.arrival_ns
        if job.end_ns is None or job.first_token_ns is None:
            self.rejected += 1
            return
        if job.end_ns > _LAST_NS:
            raise RequestFault(
                f"request {job.request_id}: it ends {job.end_ns / NS:.3g} s after the log's zero, "
                f"expected at most {_LAST_NS / NS:.3g} s; faster steps or links are needed"
            )
        self.completed += 1
        self.prompt_tokens += job.prompt_tokens
        self.output_tokens += job.output_tokens
        self.hit_tokens += job.hit_tokens
        self.loaded_tokens += job.loaded_tokens
        if job.readmission_hit_tokens:
            self.readmission_hit_tokens += sum(job.readmission_hit_tokens)
        self.ttft_ns.append(job.first_token_ns - job.arrival_ns)
        self.e2e_ns.append(job.end_ns - job.arrival_ns)
        if job.end_ns > self.last_end_ns:
            self.last_end_ns = job.end_ns
        misses, requests = self.misses, self.missed_requests
        for reason, tokens in job.misses:
            misses[reason] += tokens
            requests[reason] += 1

    @property
    def token_hit_ratio(self) -> float | None:
        return self.hit_tokens / self.prompt_tokens if self.prompt_tokens else None

    @property
    def makespan_s(self) -> float:
        """From the first arrival to the last end."""
        if self.first_arrival_ns is None or not self.completed:
            return 0.0
        return (self.last_end_ns - self.first_arrival_ns) / NS


def spread(values_ns: "array[int]") -> Spread | None:
    """Of one value a request; None without any."""
    if not values_ns:
        return None
    mean = float((np.frombuffer(values_ns, dtype=np.int64) / NS).mean())
    return Spread(mean, *quantiles(values_ns, (0.5, 0.9, 0.99)))


def quantiles(values_ns: "array[int]", shares: Sequence[float]) -> list[float]:
    """In seconds, one a share; of at least one value."""
    seconds = np.frombuffer(values_ns, dtype=np.int64) / NS
    return [float(value) for value in np.quantile(seconds, shares)]


def spread_of_counts(counts: GapCounts) -> Spread | None:
    """Of values that occur so often: the ITL over all gaps between tokens, not over requests."""
    if not counts:
        return None
    mean = counts.total_ns() / int(counts.times.sum()) / NS
    return Spread(mean, *quantiles_of_counts(counts, (0.5, 0.9, 0.99)))


def quantiles_of_counts(counts: GapCounts, shares: Sequence[float]) -> list[float]:
    """In seconds, one a share; of at least one value."""
    ends = np.cumsum(counts.times)
    total = int(ends[-1])

    def quantile(share: float) -> float:
        place = share * (total - 1)
        low, high = int(place), min(int(place) + 1, total - 1)
        found = np.searchsorted(ends, (low, high), side="right")
        below, above = counts.lengths_ns[found].tolist()
        return float((below + (above - below) * (place - low)) / NS)

    return [quantile(share) for share in shares]
