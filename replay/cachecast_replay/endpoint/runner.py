"""A log's requests to a server at their times: open or closed loop, on the wall's clock."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator

from cachecast_replay.endpoint.answers import Answer
from cachecast_replay.endpoint.asking import Clock
from cachecast_replay.runner import Turn
from cachecast_sim.fleet.closed_loop import ClosedLoop
from cachecast_sim.fleet.job import Job

Ask = Callable[[Turn, Clock], Awaitable[Answer]]
OnAnswer = Callable[[Answer], None]


class WallClock:
    """The wall's time since it was made, counted from the log's `origin_ns`."""

    def __init__(self, origin_ns: int) -> None:
        self._shift_ns = origin_ns - time.monotonic_ns()

    def now_ns(self) -> int:
        return time.monotonic_ns() + self._shift_ns

    async def wait_until(self, time_ns: int) -> None:
        """Until then others run; no wait for what has passed."""
        left_ns = time_ns - self.now_ns()
        if left_ns > 0:
            await asyncio.sleep(left_ns / 1e9)


class EndpointReplay:
    """Asks with at most `concurrency` requests in flight (None: as many as come).

    `on_answer` hears of each request when it has ended, in that order. The first arrival is now:
    the time before it is not waited for. A failed request ends like any other, and its session
    goes on.
    """

    def __init__(self, ask: Ask, concurrency: int | None, on_answer: OnAnswer) -> None:
        self._ask = ask
        self._slots = None if concurrency is None else asyncio.Semaphore(concurrency)
        self._on_answer = on_answer

    async def open_loop(self, turns: Iterator[Turn]) -> None:
        """Turns are sent when the log has them, later only where the cap holds them back."""
        clock: WallClock | None = None
        async with asyncio.TaskGroup() as group:
            # the next prompt is made in a thread, so that it does not delay what streams in
            while (turn := await asyncio.to_thread(next, turns, None)) is not None:
                clock = clock or WallClock(turn.job.arrival_ns)
                await clock.wait_until(turn.job.arrival_ns)
                await self._take_slot()
                group.create_task(self._serve(turn, clock))

    async def closed_loop(self, turns: Iterable[Turn]) -> None:
        """A session's next turn waits for the answer before it and its pause; all are held."""
        by_job = {turn.job: turn for turn in turns}
        loop = ClosedLoop((t.job, t.key, t.pause_ns) for t in by_job.values())
        if not by_job:
            return
        clock = WallClock(min(job.arrival_ns for job in loop.first))
        async with asyncio.TaskGroup() as group:

            async def run(job: Job, at_ns: int) -> None:
                await clock.wait_until(at_ns)
                await self._take_slot()
                await self._serve(by_job.pop(job), clock)
                loop.ended(job, clock.now_ns(), start)

            def start(job: Job, at_ns: int) -> None:
                group.create_task(run(job, at_ns))

            for job in loop.first:
                start(job, job.arrival_ns)

    async def _take_slot(self) -> None:
        if self._slots is not None:
            await self._slots.acquire()

    async def _serve(self, turn: Turn, clock: WallClock) -> None:
        """Needs a slot, and frees it."""
        try:
            answer = await self._ask(turn, clock)
        finally:
            if self._slots is not None:
                self._slots.release()
        self._on_answer(answer)
