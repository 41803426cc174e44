"""The fleet world: SimPy moves time from arrival to arrival and from step to step, nothing else."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

import simpy
from simpy.core import EmptySchedule
from simpy.events import Event

from cachecast_sim.fleet.job import Job

AFTER_ARRIVALS = 2  # SimPy's own events have priority 0 and 1: a step sees all arrivals of its time


class EngineServer(Protocol):
    """A server's engine without a clock; times are integer nanoseconds."""

    def submit(self, job: Job, now_ns: int) -> int | None:
        """Queue a job. When `advance` must be called, if that is earlier than was said before."""
        ...

    def advance(self, now_ns: int) -> int | None:
        """At a step's end: what it leaves behind, then the next step. Its end, None if idle."""
        ...


class _Boundary(Event):
    """A server's next step boundary. Built like SimPy's Timeout, but after all arrivals."""

    def __init__(
        self, env: simpy.Environment, delay_ns: int, reached: Callable[[Event], None]
    ) -> None:
        self.env = env
        self.callbacks = [reached]
        self._value = None
        self._ok = True
        env.schedule(self, AFTER_ARRIVALS, delay_ns)


class ServerClock:
    """Calls one server's engine at its step boundaries."""

    def __init__(self, env: simpy.Environment, engine: EngineServer) -> None:
        self.engine = engine
        self._env = env
        self._next: Event | None = None
        self._next_ns = 0

    def submit(self, job: Job) -> None:
        now_ns = int(self._env.now)
        at_ns = self.engine.submit(job, now_ns)
        if at_ns is not None and (self._next is None or at_ns < self._next_ns):
            self._wake(at_ns, now_ns)

    def _wake(self, at_ns: int, now_ns: int) -> None:
        self._next_ns = at_ns
        self._next = _Boundary(self._env, at_ns - now_ns, self._reached)

    def _reached(self, event: Event) -> None:
        if event is not self._next:
            return  # an arrival has cut the stretch short since
        now_ns = int(self._env.now)
        at_ns = self.engine.advance(now_ns)
        if at_ns is None:
            self._next = None
        else:
            self._wake(at_ns, now_ns)


Route = Callable[[Job, int], int]  # (job, now_ns): the number of its server


class FleetWorld:
    """A clock, servers behind a router, and jobs that come out in the order in which they came in.

    `engines(on_finish)` makes the servers' engines. Memory is bounded by the jobs in flight.
    """

    def __init__(
        self,
        engines: Callable[[Callable[[Job, int], None]], list[EngineServer]],
        route: Route,
    ) -> None:
        self.env = simpy.Environment()
        self.clocks = [ServerClock(self.env, engine) for engine in engines(self._finished)]
        self._route = route
        self._in_flight = 0
        self._next = 0
        self._done: dict[int, Job] = {}
        self._ready: deque[Job] = deque()

    def run(self, jobs: Iterable[Job]) -> Iterator[Job]:
        """Every job exactly once, by `index`, as soon as it and all before it have ended."""
        env, ready = self.env, self._ready
        env.process(self._arrivals(jobs))
        while True:
            try:
                env.step()
            except EmptySchedule:
                break
            while ready:
                yield ready.popleft()
        if self._in_flight:
            raise RuntimeError(f"{self._in_flight} requests are in flight and nothing moves them")

    def _arrivals(self, jobs: Iterable[Job]) -> Iterator[Event]:
        env = self.env
        for job in jobs:
            wait_ns = job.arrival_ns - env.now
            if wait_ns > 0:
                yield env.timeout(wait_ns)
            self.submit(job)

    def submit(self, job: Job) -> None:
        """`job` arrives now."""
        self._in_flight += 1
        job.server = self._route(job, int(self.env.now))
        self.clocks[job.server].submit(job)

    def _finished(self, job: Job, now_ns: int) -> None:
        self._in_flight -= 1
        if job.index != self._next:
            self._done[job.index] = job
            return
        ready, done = self._ready, self._done
        ready.append(job)
        self._next += 1
        while done and (due := done.pop(self._next, None)) is not None:
            ready.append(due)
            self._next += 1
