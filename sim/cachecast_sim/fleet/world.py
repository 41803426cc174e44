"""The fleet world: SimPy moves time from arrival to arrival and from step to step, nothing else."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol

import simpy
from simpy.core import EmptySchedule
from simpy.events import Event, EventPriority

from cachecast_sim.fleet.job import Job
from cachecast_sim.fleet.links import Link
from cachecast_sim.fleet.routers import Route

# SimPy's own events have priority 0 and 1: a step sees all arrivals of its time. Boundaries at one
# time come in the order of the servers' numbers, each with a priority of its own: how the servers
# got there, step by step or in a stretch, must not decide who is first.
WITH_ARRIVALS = EventPriority(1)
AFTER_ARRIVALS = 2  # of the first server's boundaries


class EngineServer(Protocol):
    """A server's engine without a clock; times are integer nanoseconds."""

    def submit(self, job: Job, now_ns: int) -> int | None:
        """Queue a job. When `advance` must be called, if that is earlier than was said before."""
        ...

    def advance(self, now_ns: int) -> int | None:
        """At a step's end: what it leaves behind, then the next step. Its end, None if idle."""
        ...

    def load(self) -> tuple[int, int, int]:
        """Jobs that wait, jobs that run, blocks that jobs hold."""
        ...

    def look_at(self, at_ns: int) -> int | None:
        """Somebody asks for `load` at the first step boundary at that time or later. When `advance`
        must be called, if that is earlier than was said before."""
        ...


class GivingServer(EngineServer, Protocol):
    """One whose jobs go on elsewhere."""

    def let_go(self, job: Job, now_ns: int) -> int | None:
        """The blocks of `job` have been fetched. When `advance` must be called."""
        ...


class _At(Event):
    """Calls `reached` at a time. Built like SimPy's Timeout, but with a priority, and once it has
    come it may be set again."""

    def __init__(
        self, env: simpy.Environment, delay_ns: int, reached: Callable[[Event], None],
        priority: EventPriority,
    ) -> None:  # fmt: skip
        self.env = env
        self.callbacks = self._reached = [reached]
        self._value = None
        self._ok = True
        env.schedule(self, priority, delay_ns)

    def again(self, delay_ns: int, priority: EventPriority) -> None:
        """The same once more; SimPy has taken the callbacks of an event that has come."""
        self.callbacks = self._reached
        self.env.schedule(self, priority, delay_ns)


class Arrivals:
    """Submits each job at its time, and at once if that has passed."""

    def __init__(
        self, env: simpy.Environment, jobs: Iterable[Job], submit: Callable[[Job], None]
    ) -> None:
        self._env = env
        self._jobs = iter(jobs)
        self._submit = submit
        self._next: Job | None = None
        self._event = _At(env, 0, self._reached, WITH_ARRIVALS)

    def _reached(self, event: Event) -> None:
        if self._next is not None:
            self._submit(self._next)
        now_ns = int(self._env.now)
        for job in self._jobs:
            if job.arrival_ns > now_ns:
                self._next = job
                self._event.again(job.arrival_ns - now_ns, WITH_ARRIVALS)
                return
            self._submit(job)


# (server, now_ns, load): when the next sample of this server is wanted
Sample = Callable[[int, int, tuple[int, int, int]], int]


class ServerClock:
    """Calls one server's engine at its step boundaries, and tells `sample` now and then of it."""

    def __init__(
        self, env: simpy.Environment, engine: EngineServer, number: int, sample: Sample | None
    ) -> None:
        self.engine = engine
        self._env = env
        self._at_boundary = self._reached  # bound once: it is asked for at every step
        self._number = number
        self._priority = EventPriority(AFTER_ARRIVALS + number)
        self._sample = sample
        self._sample_ns = 0
        self._next: _At | None = None
        self._next_ns = 0

    def submit(self, job: Job, now_ns: int) -> None:
        """`job` arrives here now."""
        self.wake(self.engine.submit(job, now_ns), now_ns)

    def wake(self, at_ns: int | None, now_ns: int) -> None:
        """`advance` at that time, unless it comes earlier anyway."""
        if at_ns is not None and (self._next is None or at_ns < self._next_ns):
            self._next_ns = at_ns
            self._next = _At(self._env, at_ns - now_ns, self._at_boundary, self._priority)

    def _reached(self, event: Event) -> None:
        boundary = self._next
        if event is not boundary or boundary is None:
            return  # an arrival has cut the stretch short since
        now_ns = self._next_ns
        at_ns = self.engine.advance(now_ns)
        if self._sample is not None and now_ns >= self._sample_ns:
            self._sample_ns = self._sample(self._number, now_ns, self.engine.load())
            cut_ns = self.engine.look_at(self._sample_ns)
            at_ns = at_ns if cut_ns is None else cut_ns
        if at_ns is None:
            self._next = None
        else:
            self._next_ns = at_ns
            boundary.again(at_ns - now_ns, self._priority)


class FleetWorld:
    """A clock, servers behind a router, and jobs that come out in the order in which they came in.

    Engines are made with this world's `finished` (and `hand_over`, `receive` where the fleet is
    disaggregated) and then given to `connect`. `after(job, now_ns)` hears of each job's end, and
    `sample` of the servers' loads; decode servers are numbered after the others. Memory is bounded
    by the jobs in flight.
    """

    def __init__(
        self, after: Callable[[Job, int], None] | None = None, sample: Sample | None = None
    ) -> None:
        self._sample = sample
        self.env = simpy.Environment()
        self.clocks: list[ServerClock] = []
        self._after = after
        self._in_flight = 0
        self._next = 0
        self._done: dict[int, Job] = {}
        self._ready: deque[Job] = deque()

    def connect(self, engines: Sequence[EngineServer], route: Route) -> None:
        """The servers that take arrivals."""
        self.clocks = self._clocks(engines, 0)
        self._route = route

    def connect_together(self, engine: EngineServer, servers: int, route: Route) -> None:
        """So many servers that one engine moves all together."""
        self.clocks = [ServerClock(self.env, engine, 0, None)] * servers
        self._route = route

    def connect_decode(
        self, givers: Sequence[GivingServer], engines: Sequence[EngineServer], route: Route,
        links: Sequence[Link], token_bytes: int,
    ) -> None:  # fmt: skip
        """The servers that only decode, and the link into each of them."""
        self._givers = givers
        self._decode_clocks = self._clocks(engines, len(givers))
        self._decode_route = route
        self._links = links
        self._token_bytes = token_bytes

    def _clocks(self, engines: Sequence[EngineServer], first: int) -> list[ServerClock]:
        numbered = enumerate(engines, start=first)
        return [ServerClock(self.env, engine, n, self._sample) for n, engine in numbered]

    def run(self, jobs: Iterable[Job]) -> Iterator[Job]:
        """Every job exactly once, by `index`, as soon as it and all before it have ended."""
        ready, step = self._ready, self.env.step
        Arrivals(self.env, jobs, self.submit)
        while True:
            try:
                step()
            except EmptySchedule:
                break
            while ready:
                yield ready.popleft()
        if self._in_flight:
            raise RuntimeError(f"{self._in_flight} requests are in flight and nothing moves them")

    def submit(self, job: Job) -> None:
        """`job` arrives now."""
        self._in_flight += 1
        now_ns = int(self.env.now)
        job.server = server = self._route(job, now_ns)
        self.clocks[server].submit(job, now_ns)

    def arrive_at(self, job: Job, at_ns: int) -> None:
        """`job` arrives at that time."""
        _At(self.env, at_ns - int(self.env.now), lambda event: self.submit(job), WITH_ARRIVALS)

    def finished(self, job: Job, now_ns: int) -> None:
        """A job has ended or was rejected."""
        self._in_flight -= 1
        if self._after is not None:
            self._after(job, now_ns)
        if job.index != self._next:
            self._done[job.index] = job
            return
        ready, done = self._ready, self._done
        ready.append(job)
        self._next += 1
        while done and (due := done.pop(self._next, None)) is not None:
            ready.append(due)
            self._next += 1

    def hand_over(self, job: Job, now_ns: int) -> None:
        """A job's prefill is done: it goes on to a server that decodes."""
        job.decode_server = self._decode_route(job, now_ns)
        self._decode_clocks[job.decode_server].submit(job, now_ns)

    def receive(self, job: Job, tokens: int, now_ns: int) -> int:
        """The decode server has blocks for `job`: its K and V set out. When they are there."""
        assert job.server is not None, "a job is prefilled by a server"
        assert job.decode_server is not None, "a job is fetched by the server that decodes it"
        link = self._links[job.decode_server]
        ready_ns = link.send(tokens * self._token_bytes, now_ns) if tokens else now_ns
        giver, clock = self._givers[job.server], self.clocks[job.server]
        _At(
            self.env, ready_ns - now_ns,
            lambda event: clock.wake(giver.let_go(job, ready_ns), ready_ns), WITH_ARRIVALS,
        )  # fmt: skip
        return ready_ns
