"""Asking a question about what is open: computed once, remembered here and in the folder."""

import hashlib
import os
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from cachecast.dashboard.ahead import OPENING, Ahead, running
from cachecast.dashboard.fingerprint import fingerprint
from cachecast.dashboard.folder import Folder
from cachecast.dashboard.opened import Opened, open_input
from cachecast.dashboard.work import Answer, Task, Work, Workshop
from cachecast.progress import Report

Arguments = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """Something that may be asked; `answer` calls what the command line calls.

    The answer is a JSON document of the contract, or has the `path` of a run in the folder.
    `name` is a part of file names, `doing` what a person reads meanwhile. What may hold text of a
    prompt is not `kept` in the folder, only remembered until the server ends.
    """

    name: str
    doing: str
    answer: Callable[[Opened, Arguments, Folder, Report], Answer]
    kept: bool = True


class Answers:
    """All answers of one server over one folder.

    `chosen` has the path and the label of what was opened by hand, by its key; `ahead` is the
    process that works out some of them.
    """

    def __init__(self, folder: Folder, ahead: Ahead | None = None) -> None:
        self.folder = folder
        self._ahead = ahead
        self.workshop = Workshop()
        self.chosen: dict[str, tuple[Path, str]] = {}

    def open(self, path: Path, label: str) -> Work:
        """Opening a log or a run; `opened(work.answer)` is what came of it."""
        key = (OPENING, str(path), label, _stamp(path))

        def work(report: Report) -> Answer:
            return open_input(path, label, self.folder, report)

        self._forget_if_deleted(key, "log")
        return self.workshop.start(key, work, elsewhere=self._ahead_of(OPENING, path, ()))

    def read_anew(self, path: Path, label: str) -> None:
        """Forget what a log was: the next `open` reads it again, also where only a file deep in a
        folder has changed."""
        self.workshop.drop(("open", str(path), label, _stamp(path)))

    def ask(self, question: Question, about: Opened, *arguments: str, behind: bool = False) -> Work:
        """The work on a question; the same question about the same input is one work.

        `behind`: nobody waits for it, so it rests while something else is worked on.
        """
        name = _name(question, about, arguments)

        def work(report: Report) -> Answer:
            return worked_out(question, about, arguments, self.folder, report)

        self._forget_if_deleted(name, "path")
        elsewhere = self._ahead_of(question.name, about.source, arguments)
        return self.workshop.start(name, work, behind=behind, elsewhere=elsewhere)

    def _forget_if_deleted(self, key: Hashable, file: str) -> None:
        """Forget an answer whose file somebody has deleted: it is worked out anew."""
        answer = self.workshop.answer(key)
        if answer is None or file not in answer:
            return
        if not Path(answer[file]).exists():
            self.workshop.drop(key)
        elif file == "path":
            self.folder.used(Path(answer[file]))

    def _ahead_of(self, name: str, path: Path, asked: Arguments) -> Task | None:
        """Waiting for the other process, if there is one: it may work on that."""
        ahead = self._ahead
        return None if ahead is None else lambda report: ahead.answer(name, path, asked, report)

    def empty(self) -> None:
        """Empty the folder and forget all answers."""
        if self._ahead is not None:
            self._ahead.end()
        self.workshop.forget()
        self.chosen.clear()
        self.folder.empty()


@cache
def answers_in(path: Path) -> Answers:
    """The answers of a folder, one object a folder for the whole server."""
    return Answers(Folder(path), running())


def worked_out(
    question: Question, about: Opened, asked: Arguments, folder: Folder, report: Report
) -> Answer:
    """The answer that the folder has, else a new one, which it has then."""
    if not question.kept:
        return question.answer(about, asked, folder, report)
    name = _name(question, about, asked)
    kept = folder.kept("answers", name)
    if kept is not None and ("path" not in kept or Path(kept["path"]).exists()):
        return kept
    answer: dict[str, Any] = question.answer(about, asked, folder, report)
    folder.keep("answers", name, answer)
    return answer


def _stamp(path: Path) -> tuple[int, int]:
    """What tells that a file was changed; zeros where there is none."""
    run = path / "run.json"  # the folder itself stays as it is when its files change
    try:
        seen = (run if os.path.isfile(run) else path).stat()
    except OSError:
        return 0, 0
    return seen.st_size, seen.st_mtime_ns


def _name(question: Question, about: Opened, arguments: Arguments) -> str:
    asked = hashlib.sha256(repr((arguments, fingerprint())).encode()).hexdigest()[:16]
    return f"{question.name}-{about.key}-{asked}"
