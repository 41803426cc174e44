"""The servers of one fleet beside each other: what one of them has to know of the others' steps."""

from collections.abc import Callable
from dataclasses import dataclass

from cachecast_sim.fleet.job import Job
from cachecast_sim.fleet.prefixes import Segment


@dataclass(frozen=True, slots=True)
class Owing:
    """A server in a stretch. `settle(now_ns)` takes the blocks of the steps that have begun; they
    are those of `job`, a long prompt, or of any job that decodes where that is None."""

    settle: Callable[[int], None]
    job: Job | None


class Beside:
    """Servers in the order of their numbers, in which boundaries at one and the same time come.

    A server that takes many steps as one stretch may owe the blocks of those that have begun; who
    asks what any server ever computed lets it settle first.
    """

    def __init__(self) -> None:
        self.owing: dict[int, Owing] = {}  # by number: servers in a stretch that fills blocks
        self._last_ns: list[int | None] = []

    def join(self) -> tuple[int, list[int | None]]:
        """One more server. Its number, and where under that number it notes the time of each step
        boundary that it comes to."""
        self._last_ns.append(None)
        return len(self._last_ns) - 1, self._last_ns

    def passed(self, number: int, now_ns: int) -> bool:
        """Whether a later server's boundary at this very time has come: then this one's has too."""
        return now_ns in self._last_ns[number + 1 :]

    def settle(self, segment: Segment, now_ns: int) -> bool:
        """Every server takes what of the segment its steps have computed by now. Whether any of
        them may have had to."""
        found = [owing for owing in self.owing.values() if _fills(owing.job, segment)]
        for owing in found:
            owing.settle(now_ns)
        return bool(found)


def _fills(job: Job | None, segment: Segment) -> bool:
    return job is None or segment in [piece[0] for piece in job.path]
