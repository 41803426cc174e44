"""A run's memory is bounded by the requests in flight, however long the log is."""

from collections.abc import Iterator

from fleet_runs import Setup, ask_ids, linear, vllm_server

from cachecast_datasets.request import Request
from cachecast_sim.fleet.content import JobMaker
from cachecast_sim.fleet.job import Job
from cachecast_sim.fleet.world import FleetWorld

REQUESTS = 3_000


def log(apart_ms: float) -> Iterator[Request]:
    """Prompts of three blocks with an answer of 20 tokens: 21 steps of about 1 ms."""
    for number in range(REQUESTS):
        yield ask_ids(apart_ms * number, [3 * number, 3 * number + 1, 3 * number + 2], 12, 4, 20)


class Watched:
    """A run that counts at every job that comes out what is kept at that moment."""

    def __init__(self, apart_ms: float) -> None:
        self.read = self.most_ahead = self.most_events = self.most_queued = 0
        self.world = FleetWorld()
        self.server = vllm_server(Setup(4, 1_000), linear(1_000, 1), self.world.finished)
        self.world.connect([self.server], lambda job, now_ns: 0)
        for done, _ in enumerate(self.world.run(self._jobs(apart_ms))):
            self.most_ahead = max(self.most_ahead, self.read - done)
            self.most_events = max(self.most_events, len(self.world.env._queue))

    def _jobs(self, apart_ms: float) -> Iterator[Job]:
        make = JobMaker(4).job
        for request in log(apart_ms):
            self.read += 1
            yield make(request)


def test_the_log_is_read_as_far_as_its_arrivals_have_come() -> None:
    """Known faults 46, 47 and 49: whole logs were loaded before the first step. With 30 ms from one
    to the next, one is served and one waits for its arrival; with 10 ms, three and one."""
    assert Watched(30).most_ahead == 2
    assert Watched(10).most_ahead == 4
    assert Watched(30).read == REQUESTS


def test_events_that_an_arrival_made_idle_do_not_pile_up() -> None:
    """Known fault 48: a queue of events that was never drained. An arrival that cuts a stretch
    leaves its old end behind, which goes when its time has come: one for each in flight at most."""
    watched = Watched(10)
    assert watched.most_events <= 2 + watched.most_ahead
    assert len(watched.world.env._queue) == 0
    assert not watched.world._done
    assert watched.server.load() == (0, 0, 0)
    assert not watched.server.group._finishes
