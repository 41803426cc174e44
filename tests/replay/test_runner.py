"""The replay loop on an engine of paper: whose clock, who arrives when, what is recorded."""

from collections.abc import Callable, Sequence

import pytest

from cachecast_replay.clocks import VirtualClock
from cachecast_replay.engine.records import RequestResult, StepPart, StepRecord
from cachecast_replay.measuring import StepTime, Stopwatch
from cachecast_replay.runner import Replay, Step, Turn, step_of
from cachecast_sim.fleet.job import Job

STEP_NS = 1000


class PaperEngine:
    """Runs all requests at once; each takes as many steps as it has output tokens."""

    def __init__(self, largest: int = 100) -> None:
        self.results: dict[str, RequestResult] = {}
        self._live: dict[str, tuple[int, int, int]] = {}  # prompt, output, tokens put out
        self._largest = largest

    def add(
        self, request_id: str, prompt_token_ids: Sequence[int], output_len: int,
        forced_output: Sequence[int] | None = None,
    ) -> None:  # fmt: skip
        if len(prompt_token_ids) > self._largest:
            self.results[request_id] = self._result(request_id, "rejected", None)
            return
        self._live[request_id] = (len(prompt_token_ids), output_len, 0)

    def step(self) -> StepRecord | None:
        if not self._live:
            return None
        parts, admitted, yielded, finished = [], [], [], []
        for name, (prompt, output, done) in list(self._live.items()):
            if done:
                parts.append(StepPart(name, prompt + done - 1, 1, "decode"))
            else:
                admitted.append(name)
                parts.append(StepPart(name, 0, prompt, "prefill"))
            yielded.append((name, 0))
            self._live[name] = (prompt, output, done + 1)
            if done + 1 == output:
                finished.append(name)
                del self._live[name]
                self.results[name] = self._result(name, "completed", 0)
        return StepRecord(tuple(parts), tuple(admitted), (), tuple(yielded), tuple(finished), 0)

    def _result(self, name: str, status: object, hits: int | None) -> RequestResult:
        assert status in ("completed", "rejected")
        kind = "completed" if status == "completed" else "rejected"
        return RequestResult(name, kind, 1, hits, (), 0, ())  # type: ignore[arg-type]


class PaperStopwatch(Stopwatch):
    """Every step takes the same time."""

    def __init__(self) -> None:
        super().__init__()

    def time(self, step: Callable[[], object]) -> StepTime:
        step()
        return StepTime(STEP_NS, STEP_NS, None, None)


def turn(index: int, arrival_ns: int, output: int = 1, prompt: int = 4, **more: object) -> Turn:
    job = Job(f"r{index}", index, arrival_ns, prompt, output, [], 0)
    return Turn(job, [1] * prompt, [2] * output, **more)  # type: ignore[arg-type]


def replay(*turns: Turn, closed: bool = False) -> tuple[list[Job], list[Step]]:
    steps: list[Step] = []
    run = Replay(PaperEngine(), VirtualClock(), PaperStopwatch(), steps.append)
    return list(run.closed_loop(turns) if closed else run.open_loop(turns)), steps


def test_times_are_those_of_the_virtual_clock() -> None:
    (job,), steps = replay(turn(0, 0, output=3))
    assert (job.scheduled_ns, job.first_token_ns, job.end_ns) == (0, STEP_NS, 3 * STEP_NS)
    assert [step.start_ns for step in steps] == [0, STEP_NS, 2 * STEP_NS]


def test_the_gaps_between_two_tokens_of_a_request_are_counted() -> None:
    """Three tokens have two gaps, one token has none; a step of others is no gap."""
    run = Replay(PaperEngine(), VirtualClock(), PaperStopwatch())
    assert len(list(run.open_loop([turn(0, 0, output=3), turn(1, 0), turn(2, 5 * STEP_NS)]))) == 3
    assert run.gaps_ns == {STEP_NS: 2}


def test_idle_time_is_skipped() -> None:
    (_, late), steps = replay(turn(0, 0), turn(1, 10**12))
    assert (late.scheduled_ns, late.end_ns) == (10**12, 10**12 + STEP_NS)
    assert len(steps) == 2


def test_an_arrival_at_a_steps_start_is_in_it_and_one_behind_it_in_the_next() -> None:
    (_, on_time, late), _ = replay(turn(0, 0, output=9), turn(1, STEP_NS), turn(2, STEP_NS + 1))
    assert on_time.scheduled_ns == STEP_NS
    assert late.scheduled_ns == 2 * STEP_NS


def test_jobs_come_out_in_the_order_of_the_log() -> None:
    jobs, _ = replay(turn(0, 0, output=5), turn(1, 0, output=1), turn(2, 0, output=3))
    assert [job.index for job in jobs] == [0, 1, 2]


def test_a_request_that_the_engine_rejects_is_said_and_the_run_goes_on() -> None:
    (large, small), _ = replay(turn(0, 0, prompt=101), turn(1, 0))
    assert (large.status, large.end_ns) == ("rejected", None)
    assert small.status == "ok"


def test_in_a_closed_loop_a_turn_waits_for_the_answer_before_it_and_its_pause() -> None:
    key = ("s1", None)
    (first, second), _ = replay(
        turn(0, 0, output=4, key=key), turn(1, 1, key=key, pause_ns=500), closed=True
    )
    assert first.end_ns == 4 * STEP_NS
    assert second.arrival_ns == second.scheduled_ns == 4 * STEP_NS + 500


def test_a_step_is_counted_as_a_latency_model_counts_it() -> None:
    """A prompt of 3 behind 10 cached ones: 3 x 10 + 3 x 4 / 2 pairs. Decodes of length 7 and 9."""
    record = StepRecord(
        (
            StepPart("a", 10, 3, "prefill"),
            StepPart("b", 6, 1, "decode"),
            StepPart("c", 8, 1, "decode"),
        ), (), (), (), (), 24,
    )  # fmt: skip
    step = step_of(5, 100, StepTime(1, 1, None, None), record)
    assert (step.prefill_tokens, step.prefill_requests, step.prefill_pairs) == (3, 1, 36)
    assert (step.decode_requests, step.decode_context, step.held_tokens) == (2, 7 + 9, 24)


def test_what_ended_before_an_interruption_is_kept_though_an_earlier_request_still_ran() -> None:
    """r0 puts out five tokens, r1 and r2 two and one; Ctrl-C comes in the fourth step."""
    steps: list[Step] = []

    def on_step(step: Step) -> None:
        steps.append(step)
        if len(steps) == 4:
            raise KeyboardInterrupt

    run = Replay(PaperEngine(), VirtualClock(), PaperStopwatch(), on_step)
    jobs = run.open_loop([turn(0, 0, output=5), turn(1, 0, output=2), turn(2, 0, output=1)])
    with pytest.raises(KeyboardInterrupt):
        next(jobs)
    kept = list(run.held_back())
    assert [(job.index, job.status, job.end_ns) for job in kept] == [
        (1, "ok", 2 * STEP_NS), (2, "ok", STEP_NS),
    ]  # fmt: skip
    assert list(run.held_back()) == []


def test_in_a_closed_loop_a_rejected_turn_is_followed_by_the_next_as_in_the_simulator() -> None:
    jobs, _ = replay(
        turn(0, 0, prompt=101, key=("s", None)),
        turn(1, 50, key=("s", None), pause_ns=7),
        closed=True,
    )
    assert [(job.status, job.arrival_ns) for job in jobs] == [("rejected", 0), ("ok", 7)]


def test_a_request_that_is_rejected_last_is_told_too() -> None:
    jobs, _ = replay(turn(0, 0), turn(1, 10 * STEP_NS, prompt=101))
    assert [job.status for job in jobs] == ["ok", "rejected"]
