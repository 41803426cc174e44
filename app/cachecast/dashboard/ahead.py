"""The answers of the first page, worked out in a process of their own while this one starts.

Streamlit, the browser's files and a replay would share one interpreter; so the replay has another
(`first_answers`), which keeps its answers in the folder and prints them and how far it is.
"""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from cachecast.dashboard.arguments import Arguments
from cachecast.progress import Report

CHECK, OPENING = "check", "open"
QUESTIONS = ("bill", "run", "why")  # by name: what they call takes a while to import

_LOOK_EVERY_S = 0.05
_PATIENCE_S = 5.0


class Ahead:
    """The other process: what it will answer, how far it is, what it answered, its end."""

    def __init__(self, arguments: Arguments) -> None:
        assert arguments.source is not None, "without a log there is nothing to answer"
        source, asked = str(arguments.source), (arguments.scenario,)
        self._keys = {
            CHECK: (CHECK, "", ()), OPENING: (OPENING, source, ()),
            **{name: (name, source, asked) for name in QUESTIONS},
        }  # fmt: skip
        self._far: dict[str, tuple[str, int, int]] = {}
        self._answers: dict[str, dict[str, Any]] = {}
        self._over = False
        self._news = threading.Condition()
        self._process = subprocess.Popen(
            [sys.executable, "-m", f"{__package__}.first_answers", *arguments.as_list()],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )  # fmt: skip
        threading.Thread(target=self._listen, daemon=True, name="first answers").start()

    @property
    def accepted(self) -> bool:
        """Whether it found log and scenario to be what they should be; waits until it has looked.

        Where it did not, whoever looks for himself finds out why.
        """
        return self.answer(CHECK, "", (), lambda doing, done, total: None) is not None

    def answer(
        self, name: str, source: str | Path, asked: tuple[str, ...], report: Report
    ) -> dict[str, Any] | None:
        """Its answer, waited for; None where the question is none of its own, or it failed.

        What `report` raises ends the other process too.
        """
        if self._keys.get(name) != (name, str(source), asked):
            return None
        try:
            while not (self._over or name in self._answers):
                report(*self._far.get(name, ("", 0, 0)))
                with self._news:
                    self._news.wait(_LOOK_EVERY_S)
        except BaseException:
            self.end()
            raise
        return self._answers.get(name)

    def wait(self) -> None:
        """Until it has ended."""
        with self._news:
            self._news.wait_for(lambda: self._over)

    def end(self) -> None:
        """End it and forget what it answered."""
        self._keys.clear()
        self._process.terminate()
        try:
            self._process.wait(_PATIENCE_S)
        except subprocess.TimeoutExpired:  # deep in a library, where no signal is heard
            self._process.kill()

    def _listen(self) -> None:
        out = self._process.stdout
        assert out is not None
        with out:
            self._take_in(out)
        self._process.wait()
        with self._news:
            self._over = True
            self._news.notify_all()

    def _take_in(self, out: IO[str]) -> None:
        for line in out:
            name, news = json.loads(line)
            with self._news:
                if isinstance(news, dict):
                    self._answers[name] = news
                    self._news.notify_all()
                else:
                    self._far[name] = news


_running: Ahead | None = None


def running() -> Ahead | None:
    """The other process of this server, if there is one."""
    return _running


@contextmanager
def working_ahead(arguments: Arguments) -> Iterator[Ahead | None]:
    """The first answers are worked out meanwhile; at the end of the block no longer."""
    global _running
    if arguments.source is None:
        yield None
        return
    _running = Ahead(arguments)
    try:
        yield _running
    finally:
        _running.end()
        _running = None
