"""How long a step took: raw, scaled by a probe against drift, and who else used the machine."""

import os
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import median
from typing import Protocol

# a normalised step lasts as on a machine on which the probe's two parts take so long
FORWARD_NS = 4_500_000
CHUNK_NS = 18_500_000
_WARM_UP = 5
_COUNTED = 3  # of the last times of a part
_LONG = 2  # a step of more forward passes than that is a prefill's: a chunk tells about it
_KEPT_STEPS = 16  # that the time of a chunk holds for, while no step is long


class Probe(Protocol):
    """Two fixed pieces of work (probe.ModelProbe)."""

    def forward(self) -> None: ...

    def chunk(self) -> None: ...


@dataclass(frozen=True, slots=True)
class StepTime:
    """`duration_ns` is what moves the clock: `raw_ns`, or that scaled by the probes around it.

    `probe_ns` is what the probe took after the step. `foreign_cpu` is the share of all cores that
    others used since the step before, None where the system does not tell.
    """

    duration_ns: int
    raw_ns: int
    probe_ns: int | None
    foreign_cpu: float | None


def scaled(raw_ns: int, forward_ns: float, chunk_ns: float) -> int:
    """What a step of `raw_ns` would take on the reference machine, at least 1.

    A step reads the weights once, as the forward pass does, and for as long as that takes it is
    slowed alike; what it takes longer is slowed like a chunk of a prompt.
    """
    like_forward = min(raw_ns, forward_ns)
    rest = raw_ns - like_forward
    return max(1, round(like_forward * FORWARD_NS / forward_ns + rest * CHUNK_NS / chunk_ns))


class Stopwatch:
    """Times one step after the other. With a `probe`, each step is scaled by it.

    A forward pass runs after each step; a chunk, which takes longer, after long steps, and after
    sixteen short ones. Of each the median of the last three counts: a probe that was interrupted
    would make its step seem a hundred times too short. Probes run outside the clock.
    """

    def __init__(self, probe: Probe | None = None) -> None:
        self._probe = probe
        self._load = ForeignLoad()
        if probe is not None:
            self._forwards_ns = deque(_times_ns(probe.forward, _WARM_UP), _COUNTED)
            self._chunks_ns = deque(_times_ns(probe.chunk, _WARM_UP), _COUNTED)
            self._chunk_age = 0

    def time(self, step: Callable[[], object]) -> StepTime:
        """Run `step` once."""
        raw_ns = _took_ns(step)
        if self._probe is None:
            return StepTime(raw_ns, raw_ns, None, self._load.since_last())
        probe_ns = _took_ns(self._probe.forward)
        self._forwards_ns.append(probe_ns)
        forward_ns = median(self._forwards_ns)
        self._chunk_age += 1
        if raw_ns > _LONG * forward_ns or self._chunk_age >= _KEPT_STEPS:
            self._chunks_ns.append(_took_ns(self._probe.chunk))
            self._chunk_age = 0
            probe_ns += self._chunks_ns[-1]
        duration_ns = scaled(raw_ns, forward_ns, median(self._chunks_ns))
        return StepTime(duration_ns, raw_ns, probe_ns, self._load.since_last())


def _times_ns(work: Callable[[], object], count: int) -> Iterator[int]:
    return (_took_ns(work) for _ in range(count))


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
