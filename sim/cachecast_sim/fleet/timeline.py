"""What happened over time, in equal intervals of which there are never too many."""

from dataclasses import dataclass

from cachecast_sim.fleet.job import Job

MOST_INTERVALS = 512


@dataclass(slots=True)
class Interval:
    """One server in one interval: its first step boundary there, and who was admitted in it.

    `waiting`, `running`, `used_blocks` are None where it had no step boundary.
    """

    waiting: int | None = None
    running: int | None = None
    used_blocks: int | None = None
    prompt_tokens: int = 0
    hit_tokens: int = 0


class Timeline:
    """Per server, intervals of `width_ns` from the log's origin on; the width doubles when there
    are too many of them."""

    def __init__(self, servers: int, width_ns: int = 1_000_000_000) -> None:
        self.width_ns = width_ns
        self.servers: list[dict[int, Interval]] = [{} for _ in range(servers)]

    def sample(self, server: int, now_ns: int, load: tuple[int, int, int]) -> int:
        """(waiting, running, used blocks) at a step boundary; when the next sample is wanted."""
        interval = self._at(server, now_ns)
        if interval.running is None:
            interval.waiting, interval.running, interval.used_blocks = load
        return (now_ns // self.width_ns + 1) * self.width_ns

    def admitted(self, job: Job) -> None:
        """A job that has ended: its tokens count in the interval of its admission."""
        if job.scheduled_ns is not None and job.server is not None:
            interval = self._at(job.server, job.scheduled_ns)
            interval.prompt_tokens += job.prompt_tokens
            interval.hit_tokens += job.hit_tokens

    def _at(self, server: int, now_ns: int) -> Interval:
        intervals = self.servers[server]
        found = intervals.get(now_ns // self.width_ns)
        if found is not None:
            return found
        if len(intervals) >= MOST_INTERVALS:
            self._widen()
        return self.servers[server].setdefault(now_ns // self.width_ns, Interval())

    def _widen(self) -> None:
        self.width_ns *= 2
        for number, intervals in enumerate(self.servers):
            wider: dict[int, Interval] = {}
            for place, interval in sorted(intervals.items()):
                before = wider.setdefault(place // 2, interval)
                if before is not interval:
                    _join(before, interval)
            self.servers[number] = wider


def _join(first: Interval, second: Interval) -> None:
    """The later half of an interval: the first sample stays, tokens add up."""
    if first.running is None:
        first.waiting, first.running = second.waiting, second.running
        first.used_blocks = second.used_blocks
    first.prompt_tokens += second.prompt_tokens
    first.hit_tokens += second.hit_tokens
