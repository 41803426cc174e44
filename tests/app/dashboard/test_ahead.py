"""A process of its own answers the first page's questions, and nothing depends on it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from cachecast.dashboard.ahead import OPENING, Ahead, running, working_ahead
from cachecast.dashboard.answers import Answers, Question
from cachecast.dashboard.arguments import Arguments
from cachecast.dashboard.folder import Folder
from cachecast.dashboard.opened import Opened, example_path, open_input, opened
from cachecast.dashboard.questions.bill import BILL
from cachecast.dashboard.questions.why import WHY
from cachecast.dashboard.work import Answer
from cachecast.progress import Report, nothing_to_report

SCENARIO = "claude-opus-5"
_LONG_S = 60


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "folder")


@pytest.fixture
def ahead(folder: Folder) -> Iterator[Ahead]:
    """The process at work on the built-in example."""
    with working_ahead(Arguments(example_path(), SCENARIO, folder.path)) as process:
        assert process is not None
        yield process


def about(folder: Folder) -> Opened:
    return opened(open_input(example_path(), example_path().name, folder, nothing_to_report))


def test_it_answers_what_this_process_would_and_keeps_it(ahead: Ahead, folder: Folder) -> None:
    assert ahead.accepted
    found = ahead.answer(OPENING, example_path(), (), nothing_to_report)
    bill = ahead.answer("bill", example_path(), (SCENARIO,), nothing_to_report)
    why = ahead.answer("why", example_path(), (SCENARIO,), nothing_to_report)

    log = about(folder)
    assert found is not None
    assert opened(found) == log
    assert bill == BILL.answer(log, (SCENARIO,), folder, nothing_to_report)
    assert why is not None
    assert why["misses"] == WHY.answer(log, (SCENARIO,), folder, nothing_to_report)["misses"]
    kept = sorted(file.name.partition("-")[0] for file in (folder.path / "answers").iterdir())
    assert kept == ["bill", "run", "trend", "why"]


def test_the_server_takes_its_answers_instead_of_working_them_out(
    ahead: Ahead, folder: Folder
) -> None:
    def fail(about: Opened, asked: tuple[str, ...], folder: Folder, report: Report) -> Answer:
        raise AssertionError("worked out twice")

    asked = Answers(folder, ahead)
    opening = asked.open(example_path(), example_path().name)
    assert opening.wait(_LONG_S)
    assert opening.answer is not None
    work = asked.ask(Question("bill", "Twice", fail), opened(opening.answer), SCENARIO)

    assert work.wait(_LONG_S)
    assert work.problem is None
    assert work.answer == ahead.answer("bill", example_path(), (SCENARIO,), nothing_to_report)


def test_another_question_is_none_of_its_own(ahead: Ahead, tmp_path: Path) -> None:
    def never(doing: str, done: int, total: int) -> None:
        raise AssertionError("nothing is waited for")

    assert ahead.answer("bill", example_path(), ("gpt-6-sol",), never) is None
    assert ahead.answer("bill", tmp_path, (SCENARIO,), never) is None
    assert ahead.answer("optimum", example_path(), (SCENARIO,), never) is None


def test_cancelling_ends_it_and_what_it_would_have_answered_is_worked_out_here(
    ahead: Ahead, folder: Folder
) -> None:
    class Cancelled(Exception):
        pass

    def cancel(doing: str, done: int, total: int) -> None:
        raise Cancelled

    with pytest.raises(Cancelled):
        ahead.answer("why", example_path(), (SCENARIO,), cancel)
    assert ahead.answer("bill", example_path(), (SCENARIO,), nothing_to_report) is None

    work = Answers(folder, ahead).ask(BILL, about(folder), SCENARIO)
    assert work.wait(_LONG_S)
    assert work.answer is not None
    assert work.answer["name"] == SCENARIO


@pytest.mark.parametrize(
    ("source", "scenario"), [("missing.jsonl", SCENARIO), (None, "no-such-model")]
)
def test_what_it_does_not_accept_is_left_to_whoever_looks_for_himself(
    folder: Folder, tmp_path: Path, source: str | None, scenario: str
) -> None:
    path = example_path() if source is None else tmp_path / source
    with working_ahead(Arguments(path, scenario, folder.path)) as process:
        assert process is not None
        assert process is running()
        assert not process.accepted
        assert process.answer(OPENING, path, (), nothing_to_report) is None
    assert running() is None


def test_without_a_log_there_is_no_other_process(folder: Folder) -> None:
    with working_ahead(Arguments(None, "log", folder.path)) as process:
        assert process is None
        assert running() is None
