"""The clocks of a replay: virtual time that only steps move, or the wall's own."""

import time
from fractions import Fraction
from typing import Protocol


class Clock(Protocol):
    """Nanoseconds from the replay's start."""

    name: str

    def now_ns(self) -> int:
        """The present moment."""
        ...

    def wait_until(self, time_ns: int) -> None:
        """Until then nothing happens."""
        ...

    def step_ended(self, duration_ns: int) -> None:
        """A step that took so long has just ended."""
        ...


class VirtualClock:
    """Integer nanoseconds that advance by measured step times; idle gaps are skipped.

    What runs beside the engine (probes, the next prompt's tokens) costs no time.
    """

    name = "virtual"

    def __init__(self) -> None:
        self._now_ns = 0

    def now_ns(self) -> int:
        return self._now_ns

    def wait_until(self, time_ns: int) -> None:
        self._now_ns = max(self._now_ns, time_ns)

    def step_ended(self, duration_ns: int) -> None:
        self._now_ns += duration_ns


class RealClock:
    """The wall's time; arrivals come `speed_up` times as fast. A log begins with its first arrival:
    what lies before it, which may be decades from the log's zero, is skipped."""

    name = "real"

    def __init__(self, speed_up: Fraction = Fraction(1)) -> None:
        self.speed_up = speed_up
        self._start_ns: int | None = None
        self._skipped_ns: int | None = None

    def now_ns(self) -> int:
        now = time.monotonic_ns()
        if self._start_ns is None:
            self._start_ns = now
        return now - self._start_ns + (self._skipped_ns or 0)

    def wait_until(self, time_ns: int) -> None:
        if self._skipped_ns is None:  # nothing has happened yet
            self._skipped_ns = max(0, time_ns - self.now_ns())
            return
        left_ns = time_ns - self.now_ns()
        if left_ns > 0:
            time.sleep(left_ns / 1e9)

    def step_ended(self, duration_ns: int) -> None:
        """The wall has moved on by itself."""
        self._skipped_ns = self._skipped_ns or 0
