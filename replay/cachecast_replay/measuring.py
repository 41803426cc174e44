"""How long a step took: raw, scaled by a probe against drift, and who else used the machine."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

REFERENCE_NS = 8_000_000  # a normalised step lasts as on a machine on which the probe takes 8 ms
_WARM_UP = 5


@dataclass(frozen=True, slots=True)
class StepTime:
    """`duration_ns` is what moves the clock: `raw_ns`, or that scaled by the probes around it.

    `foreign_cpu` is the share of all cores that others used since the step before, None where the
    system does not tell.
    """

    duration_ns: int
    raw_ns: int
    probe_ns: int | None
    foreign_cpu: float | None


class Stopwatch:
    """Times one step after the other. With a `probe`, each step is scaled by the mean of the probe
    before and the probe after it; probes run outside the clock."""

    def __init__(self, probe: Callable[[], None] | None = None) -> None:
        self._probe = probe
        self._last_probe_ns = 0
        self._load = ForeignLoad()
        if probe is not None:
            times = [self._probed(probe) for _ in range(_WARM_UP)]
            self._last_probe_ns = round(median(times))

    def time(self, step: Callable[[], object]) -> StepTime:
        """Run `step` once."""
        started = time.perf_counter_ns()
        step()
        raw_ns = max(1, time.perf_counter_ns() - started)
        if self._probe is None:
            return StepTime(raw_ns, raw_ns, None, self._load.since_last())
        probe_ns = self._probed(self._probe)
        around_ns = self._last_probe_ns + probe_ns  # twice the mean
        self._last_probe_ns = probe_ns
        scaled = max(1, round(raw_ns * 2 * REFERENCE_NS / around_ns))
        return StepTime(scaled, raw_ns, probe_ns, self._load.since_last())

    def _probed(self, probe: Callable[[], None]) -> int:
        started = time.perf_counter_ns()
        probe()
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
