"""Closed loop: a session's next request waits for the answer before it and the caller's pause.

Replaying later turns at the times of the log would let them overtake a slow server's answers, and
collapse the pauses of the people behind them.
"""

from collections import defaultdict, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from cachecast_datasets.request import Request
from cachecast_sim.fleet.job import Job

NS = 1_000_000_000
Key = tuple[str | None, str | None]


@dataclass(slots=True)
class Pauses:
    """The pause of the caller before each request, as far as the log tells it.

    Where it has no think time: arrival minus the end of the session's request before. Where that
    end is unknown, the whole time between the two arrivals, counted in `guessed`.
    """

    guessed: int = 0
    _last: dict[Key, tuple[int, float | None]] = field(default_factory=dict)

    def before(self, request: Request) -> int:
        """Nanoseconds between the answer before `request` and its arrival."""
        key = request.session_id, request.agent_id
        last = self._last.get(key)
        self._last[key] = request.arrival_us, request.end_s
        if request.think_time_s is not None:
            return round(request.think_time_s * NS)
        if last is None:
            return 0
        gap_ns = (request.arrival_us - last[0]) * 1000
        if last[1] is None:
            self.guessed += 1
            return gap_ns
        return max(0, gap_ns - round(last[1] * NS))


class ClosedLoop:
    """Jobs by session: the first at its time, each other when the one before it has ended.

    Holds all jobs that have not arrived: where servers are faster than the log was, a later turn
    comes before its place in the log.
    """

    def __init__(self, jobs: Iterable[tuple[Job, Key, int]]) -> None:
        self.first: list[Job] = []
        self._later: dict[Key, deque[tuple[Job, int]]] = defaultdict(deque)
        self._key_of: dict[Job, Key] = {}
        seen: set[Key] = set()
        for job, key, pause_ns in jobs:
            if key[0] is None or key not in seen:
                seen.add(key)
                self.first.append(job)
            else:
                self._later[key].append((job, pause_ns))
            if key[0] is not None:
                self._key_of[job] = key

    def ended(self, job: Job, now_ns: int, arrive_at: Callable[[Job, int], None]) -> None:
        """`job` has ended: its session's next one arrives after the pause."""
        key = self._key_of.pop(job, None)
        if key is None or not self._later[key]:
            return
        following, pause_ns = self._later[key].popleft()
        following.arrival_ns = now_ns + pause_ns
        arrive_at(following, following.arrival_ns)
