"""Long work: done once, cancelled at will, and what nobody waits for steps aside."""

import threading
from collections.abc import Callable

from cachecast.dashboard.work import Answer, Work, Workshop
from cachecast.progress import Report
from cachecast_datasets.errors import BadInput

_LONG_S = 60  # far more than any of this takes


class Steps:
    """Work that goes a step on each `go`, and tells how many it has done."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.go = threading.Event()

    def __call__(self, report: Report) -> Answer:
        self.begun.set()
        while not self.go.wait(0.01):
            report("stepping", 1, 4)
        report("stepping", 4, 4)
        return {"n": 1}


def done(work: Work) -> Work:
    assert work.wait(_LONG_S)
    return work


def test_the_same_key_is_one_piece_of_work() -> None:
    workshop, steps = Workshop(), Steps()

    first = workshop.start("key", steps)
    again = workshop.start("key", steps)
    steps.go.set()
    assert again is first
    assert done(first).answer == {"n": 1}
    assert (first.state, first.share) == ("done", 1.0)


def test_cancelled_work_stops_at_its_next_report_and_stays_cancelled() -> None:
    workshop, steps = Workshop(), Steps()
    work = workshop.start("key", steps)
    assert steps.begun.wait(_LONG_S)

    work.cancel()
    assert done(work).state == "cancelled"
    assert work.answer is None
    steps.go.set()
    assert workshop.start("key", steps) is work  # a page that asks again starts nothing

    work.abandon()
    again = workshop.start("key", steps)
    assert again is not work
    assert done(again).state == "done"


def test_abandoned_work_is_begun_anew_at_once_and_what_is_done_is_kept() -> None:
    workshop, steps = Workshop(), Steps()
    work = workshop.start("key", steps)
    assert steps.begun.wait(_LONG_S)

    work.abandon()
    again = workshop.start("key", steps)
    assert again is not work
    steps.go.set()
    assert done(again).answer == {"n": 1}
    again.abandon()  # too late
    assert workshop.start("key", steps) is again


def test_work_that_waits_for_its_turn_is_cancelled_at_once() -> None:
    workshop, long, never = Workshop(), Steps(), Steps()
    first = workshop.start("first", long)
    assert long.begun.wait(_LONG_S)
    second = workshop.start("second", never)

    second.cancel()
    assert done(second).state == "cancelled"
    assert first.state == "running"
    assert not never.begun.is_set()
    long.go.set()
    assert done(first).state == "done"


def test_work_behind_rests_while_something_in_front_runs() -> None:
    workshop, behind, front = Workshop(), Steps(), Steps()
    slow = workshop.start("behind", behind, behind=True)
    assert behind.begun.wait(_LONG_S)
    quick = workshop.start("front", front)
    assert front.begun.wait(_LONG_S)

    behind.go.set()
    assert not slow.wait(0.2)  # it rests in its last report
    front.go.set()
    assert done(quick).state == "done"
    assert done(slow).state == "done"


def test_work_behind_lets_what_waits_in_front_go_first() -> None:
    workshop, long, order = Workshop(), Steps(), list[str]()

    def note(name: str) -> Callable[[Report], Answer]:
        def work(report: Report) -> Answer:
            order.append(name)
            return {"done": name}

        return work

    works = [workshop.start("long", long), workshop.start("front", note("front"))]
    works.append(workshop.start("behind", note("behind"), behind=True))

    long.go.set()
    assert all(done(work).state == "done" for work in works)
    assert order == ["front", "behind"]


def test_a_refusal_is_kept_and_a_fault_of_ours_tells_no_text() -> None:
    workshop = Workshop()

    def refuse(report: Report) -> Answer:
        raise BadInput("line 3: no")

    def fail(report: Report) -> Answer:
        raise ValueError("a word of a prompt")

    assert done(workshop.start("refused", refuse)).problem == "line 3: no"
    fault = done(workshop.start("failed", fail)).problem
    assert fault is not None
    assert "ValueError" in fault
    assert "a word of a prompt" not in fault


def test_emptying_cancels_all_and_forgets_it() -> None:
    workshop, steps = Workshop(), Steps()
    work = workshop.start("key", steps)
    assert steps.begun.wait(_LONG_S)

    workshop.forget()
    assert work.state == "cancelled"
    steps.go.set()
    assert done(workshop.start("key", steps)).state == "done"


def test_what_another_process_works_out_keeps_nobody_waiting() -> None:
    """One of its answers takes long; the lane is free meanwhile for what it does not answer."""
    workshop, other = Workshop(), Steps()
    awaited = workshop.start("its", Steps(), behind=True, elsewhere=other)
    assert other.begun.wait(_LONG_S)

    ours = workshop.start(
        "ours", lambda report: {"n": 2}, behind=True, elsewhere=lambda report: None
    )
    assert done(ours).answer == {"n": 2}
    assert not awaited.ended
    other.go.set()
    assert done(awaited).answer == {"n": 1}


def test_waiting_for_another_process_can_be_cancelled() -> None:
    workshop, other = Workshop(), Steps()
    awaited = workshop.start("its", Steps(), elsewhere=other)
    assert other.begun.wait(_LONG_S)

    awaited.cancel()
    assert done(awaited).state == "cancelled"
