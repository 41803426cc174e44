"""A log through a real engine: requests arrive, steps run, the clock says when what happened."""

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Protocol

from cachecast_replay.clocks import Clock
from cachecast_replay.engine.records import RequestResult, StepRecord
from cachecast_replay.measuring import StepTime, Stopwatch
from cachecast_sim.fleet.closed_loop import ClosedLoop, Key
from cachecast_sim.fleet.job import Job


class Engine(Protocol):
    """What is replayed on (engine.Engine)."""

    @property
    def results(self) -> Mapping[str, RequestResult]: ...

    def add(
        self, request_id: str, prompt_token_ids: Sequence[int], output_len: int,
        forced_output: Sequence[int] | None = None,
    ) -> None: ...  # fmt: skip

    def step(self) -> StepRecord | None: ...


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a replay: what it computed, as a latency model counts it, and its time."""

    number: int
    start_ns: int
    time: StepTime
    prefill_tokens: int
    prefill_requests: int
    prefill_pairs: int
    decode_requests: int
    decode_context: int
    held_tokens: int


@dataclass(frozen=True, slots=True)
class Turn:
    """One request to replay: its job (which takes the results), its tokens, and whom it follows.

    `text` is what the log's prompt says, for a server that takes no tokens; None if it is unknown.
    """

    job: Job
    prompt: Sequence[int]
    output: Sequence[int]
    key: Key = (None, None)
    pause_ns: int = 0
    text: str | None = None


class Replay:
    """One run of turns through an engine.

    `on_step` hears of every step; `gaps_ns` counts the times between two tokens of a request.
    Jobs come out in log order, as soon as they and all before them have ended; times are the
    clock's.
    """

    def __init__(
        self, engine: Engine, clock: Clock, stopwatch: Stopwatch,
        on_step: Callable[[Step], None] = lambda step: None,
    ) -> None:  # fmt: skip
        self.steps = 0
        self.gaps_ns: Counter[int] = Counter()
        self._last_token_ns: dict[str, int] = {}  # of the requests that run
        self._engine = engine
        self._clock = clock
        self._stopwatch = stopwatch
        self._on_step = on_step
        self._live: dict[str, Job] = {}
        self._ended: dict[int, Job] = {}
        self._next = 0
        self._record: StepRecord | None = None

    def open_loop(self, turns: Iterable[Turn]) -> Iterator[Job]:
        """Turns arrive when the log has them."""
        return self._run(_InOrder(turns), None)

    def closed_loop(self, turns: Iterable[Turn]) -> Iterator[Job]:
        """A session's next turn waits for the answer before it and its pause; all are held."""
        by_job = {turn.job: turn for turn in turns}
        loop = ClosedLoop((t.job, t.key, t.pause_ns) for t in by_job.values())
        return self._run(_Scheduled(by_job, loop.first), loop)

    def held_back(self) -> Iterator[Job]:
        """What has ended and waited for a job before it, in log order; of use only where the loop
        was broken off."""
        for index in sorted(self._ended):
            yield self._ended.pop(index)

    def _run(self, arrivals: "_InOrder | _Scheduled", loop: ClosedLoop | None) -> Iterator[Job]:
        clock = self._clock
        while True:
            for turn in arrivals.due(clock.now_ns()):
                if self._rejects(turn) and loop is not None:
                    loop.ended(turn.job, clock.now_ns(), arrivals.arrive_at)
            if self._live:
                for job in self._step():
                    if loop is not None:
                        loop.ended(job, clock.now_ns(), arrivals.arrive_at)
            else:
                next_ns = arrivals.next_ns()
                if next_ns is not None:
                    clock.wait_until(next_ns)
            while self._next in self._ended:  # rejected ones too, of which no step says anything
                yield self._ended.pop(self._next)
                self._next += 1
            if not self._live and arrivals.next_ns() is None:
                break

    def _rejects(self, turn: Turn) -> bool:
        """The turn arrives; whether it has ended with that."""
        job = turn.job
        self._engine.add(job.request_id, turn.prompt, len(turn.output), turn.output)
        result = self._engine.results.get(job.request_id)
        if result is None:
            self._live[job.request_id] = job
            return False
        job.status = "rejected"
        self._ended[job.index] = job
        return True

    def _step(self) -> list[Job]:
        """Run one step; the jobs that ended with it."""
        start_ns = self._clock.now_ns()
        took = self._stopwatch.time(self._advance)
        record = self._record
        assert record is not None, "live requests need a step"
        self._clock.step_ended(took.duration_ns)
        now_ns = self._clock.now_ns()
        self._on_step(step_of(self.steps, start_ns, took, record))
        self.steps += 1
        for name in record.admitted:
            job = self._live[name]
            if job.scheduled_ns is None:
                job.scheduled_ns = start_ns
        for name, _ in record.yielded:
            job = self._live[name]
            if job.first_token_ns is None:
                job.first_token_ns = now_ns
            else:
                self.gaps_ns[now_ns - self._last_token_ns[name]] += 1
            self._last_token_ns[name] = now_ns
        return [self._end(name, now_ns) for name in record.finished]

    def _advance(self) -> None:
        self._record = self._engine.step()

    def _end(self, name: str, now_ns: int) -> Job:
        job, result = self._live.pop(name), self._engine.results[name]
        del self._last_token_ns[name]
        job.status = "ok"
        job.end_ns = now_ns
        job.hit_tokens = result.hit_tokens or 0
        job.readmission_hit_tokens = list(result.resume_hits)
        job.preemptions = result.preemptions
        self._ended[job.index] = job
        return job


def step_of(number: int, start_ns: int, took: StepTime, record: StepRecord) -> Step:
    """The step as a latency model counts it: attention pairs of prefills, lengths of decodes, and
    the tokens that both hold."""
    prefills = [part for part in record.parts if part.phase == "prefill"]
    decodes = [part for part in record.parts if part.phase == "decode"]
    pairs = sum(
        part.new_tokens * part.context_tokens + part.new_tokens * (part.new_tokens + 1) // 2
        for part in prefills
    )
    return Step(
        number, start_ns, took,
        sum(part.new_tokens for part in prefills), len(prefills), pairs,
        len(decodes), sum(part.context_tokens + 1 for part in decodes), record.held_tokens,
    )  # fmt: skip


class _InOrder:
    """Arrivals of a stream that is sorted; one turn is read ahead."""

    def __init__(self, turns: Iterable[Turn]) -> None:
        self._turns = iter(turns)
        self._ahead: deque[Turn] = deque()

    def due(self, now_ns: int) -> Iterator[Turn]:
        while (next_ns := self.next_ns()) is not None and next_ns <= now_ns:
            yield self._ahead.popleft()

    def next_ns(self) -> int | None:
        if not self._ahead:
            turn = next(self._turns, None)
            if turn is None:
                return None
            self._ahead.append(turn)
        return self._ahead[0].job.arrival_ns

    def arrive_at(self, job: Job, at_ns: int) -> None:
        raise AssertionError("an open loop makes no arrivals of its own")


class _Scheduled:
    """Arrivals that answers cause, beside those that the log states."""

    def __init__(self, turns: Mapping[Job, Turn], first: Iterable[Job]) -> None:
        self._turns = turns
        self._heap: list[tuple[int, int, Job]] = []
        for job in first:
            self.arrive_at(job, job.arrival_ns)

    def due(self, now_ns: int) -> Iterator[Turn]:
        while self._heap and self._heap[0][0] <= now_ns:
            yield self._turns[heappop(self._heap)[2]]

    def next_ns(self) -> int | None:
        return self._heap[0][0] if self._heap else None

    def arrive_at(self, job: Job, at_ns: int) -> None:
        heappush(self._heap, (at_ns, job.index, job))
