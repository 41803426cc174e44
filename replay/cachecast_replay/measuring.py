"""How long a step took: raw, scaled by a probe against drift, and who else used the machine."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Protocol

# a normalised step lasts as on a machine on which the probe's two parts take so long
FORWARD_NS = 4_500_000
ARITHMETIC_NS = 4_000_000
_WARM_UP = 5


class Probe(Protocol):
    """Two fixed pieces of work (probe.ModelProbe)."""

    def forward(self) -> None: ...

    def arithmetic(self) -> None: ...


@dataclass(frozen=True, slots=True)
class StepTime:
    """`duration_ns` is what moves the clock: `raw_ns`, or that scaled by the probes around it.

    `probe_ns` is both parts of the probe after the step. `foreign_cpu` is the share of all cores
    that others used since the step before, None where the system does not tell.
    """

    duration_ns: int
    raw_ns: int
    probe_ns: int | None
    foreign_cpu: float | None


@dataclass(frozen=True, slots=True)
class ProbeTimes:
    """How long the probe's parts took, or the mean of two such times."""

    forward_ns: float
    arithmetic_ns: float

    def halfway(self, other: "ProbeTimes") -> "ProbeTimes":
        return ProbeTimes(
            (self.forward_ns + other.forward_ns) / 2,
            (self.arithmetic_ns + other.arithmetic_ns) / 2,
        )

    def scaled(self, raw_ns: int) -> int:
        """What a step of `raw_ns` would take on the reference machine, at least 1.

        A step reads the weights once, as the forward pass does, and for as long as that takes it is
        slowed alike; what it takes longer is slowed like the arithmetic.
        """
        like_forward = min(raw_ns, self.forward_ns)
        forward = like_forward * FORWARD_NS / self.forward_ns
        rest = (raw_ns - like_forward) * ARITHMETIC_NS / self.arithmetic_ns
        return max(1, round(forward + rest))


class Stopwatch:
    """Times one step after the other. With a `probe`, each step is scaled by the mean of the probe
    before and the probe after it; probes run outside the clock."""

    def __init__(self, probe: Probe | None = None) -> None:
        self._probe = probe
        self._load = ForeignLoad()
        if probe is not None:
            times = [_probed(probe) for _ in range(_WARM_UP)]
            self._last = ProbeTimes(
                median(each.forward_ns for each in times),
                median(each.arithmetic_ns for each in times),
            )

    def time(self, step: Callable[[], object]) -> StepTime:
        """Run `step` once."""
        raw_ns = _took_ns(step)
        if self._probe is None:
            return StepTime(raw_ns, raw_ns, None, self._load.since_last())
        after = _probed(self._probe)
        scaled = self._last.halfway(after).scaled(raw_ns)
        self._last = after
        probe_ns = round(after.forward_ns + after.arithmetic_ns)
        return StepTime(scaled, raw_ns, probe_ns, self._load.since_last())


def _probed(probe: Probe) -> ProbeTimes:
    return ProbeTimes(_took_ns(probe.forward), _took_ns(probe.arithmetic))


def _took_ns(work: Callable[[], object]) -> int:
    started = time.perf_counter_ns()
    work()
    return max(1, time.perf_counter_ns() - started)


class ForeignLoad:
    """Which share of the machine's cores other processes used, from Linux's own counters."""

    def __init__(self) -> None:
        self._last = self._read()

    def since_last(self) -> float | None:
        """Since the call before; None within one tick of the counters, or where there are none."""
        now = self._read()
        if now is None or self._last is None:
            return None
        busy, total, own = (a - b for a, b in zip(now, self._last, strict=True))
        if total <= 0:
            return None
        self._last = now
        return min(1.0, max(0.0, (busy - own) / total))

    def _read(self) -> tuple[float, float, float] | None:
        try:
            with open("/proc/stat", encoding="ascii") as stream:
                ticks = [int(field) for field in stream.readline().split()[1:9]]
        except (OSError, ValueError):
            return None
        idle = ticks[3] + ticks[4]
        times = os.times()
        own = (times.user + times.system) * os.sysconf("SC_CLK_TCK")
        return sum(ticks) - idle, sum(ticks), own
