"""Long work in the background: one thread a piece, with progress, an end to wait for, a way out."""

import logging
import threading
import traceback
from collections.abc import Callable, Hashable
from typing import Any, Literal

from cachecast.progress import Report
from cachecast_datasets.errors import BadInput

Answer = dict[str, Any]  # a JSON document
State = Literal["waiting", "running", "done", "failed", "cancelled"]

_KEPT = 400  # ended pieces that are remembered
_PATIENCE_S = 2.0  # for work that was cancelled
_PAUSE_S = 0.02  # how often work behind looks whether it may go on

log = logging.getLogger(__name__)


Task = Callable[[Report], Answer | None]


class _Cancelled(Exception):
    """The person wants the work no more."""


class Work:
    """One piece: its state, how far it is, and `answer` or the `problem` in a sentence."""

    def __init__(self) -> None:
        self.state: State = "waiting"
        self.answer: Answer | None = None
        self.problem: str | None = None
        self.doing, self.done, self.total = "", 0, 0
        self.abandoned = False
        self._stop = threading.Event()
        self._ended = threading.Event()

    @property
    def ended(self) -> bool:
        """Whether it is over, well or not."""
        return self._ended.is_set()

    @property
    def share(self) -> float:
        """How much is done, 0 to 1."""
        return min(1.0, self.done / self.total) if self.total else 0.0

    @property
    def cancelled(self) -> bool:
        """Whether it was asked to stop."""
        return self._stop.is_set()

    def cancel(self) -> None:
        """Ask it to stop; it does so at its next report, and stays cancelled."""
        self._stop.set()

    def abandon(self) -> None:
        """Ask it to stop, if it has not ended; whoever asks for the same again begins anew."""
        self.abandoned = True
        self._stop.set()

    def wait(self, seconds: float | None = None) -> bool:
        """Whether it ended within that time."""
        return self._ended.wait(seconds)

    def run(self, function: Task, may_go_on: Callable[[], bool] = lambda: True) -> bool:
        """Do it; whether it ended: with None for an answer it is left to somebody else.

        While `may_go_on` says no, it rests at its next report.
        """
        ended = True

        def report(what: str, done: int, total: int) -> None:
            self.doing, self.done, self.total = what, done, total
            while not self._stop.is_set() and not may_go_on():
                self._stop.wait(_PAUSE_S)
            if self._stop.is_set():
                raise _Cancelled

        try:
            report("", 0, 0)
            self.state = "running"
            self.answer = function(report)
            ended = self.answer is not None
            self.state = "done" if ended else "waiting"
        except _Cancelled:
            self.state = "cancelled"
        except BadInput as problem:
            self.problem, self.state = str(problem), "failed"
        except Exception as problem:  # a fault of ours: said on the page, told in the server's log
            self.problem, self.state = fault(problem), "failed"
        finally:
            if ended:
                self._ended.set()
        return ended


def fault(problem: Exception) -> str:
    """A sentence for a fault of ours. Its message stays out: it might hold text of a prompt."""
    where = "".join(traceback.format_tb(problem.__traceback__))
    log.error("%s in the dashboard\n%s", type(problem).__name__, where)
    return (
        f"cachecast failed here ({type(problem).__name__}), which is a fault of ours: "
        "the terminal that runs the dashboard shows where"
    )


class Workshop:
    """Starts each piece of work once and remembers it by its key.

    Work in front (somebody waits for it) and work behind each have a lane, one piece at a time;
    what runs behind rests while something in front runs or waits for its turn. What is waited for
    while somebody else works it out takes no lane.
    """

    def __init__(self) -> None:
        self._known: dict[Hashable, Work] = {}
        self._lock = threading.Lock()
        self._lanes = {False: threading.Lock(), True: threading.Lock()}
        self._in_front = 0

    def start(
        self,
        key: Hashable,
        function: Callable[[Report], Answer],
        *,
        behind: bool = False,
        elsewhere: Task | None = None,
    ) -> Work:
        """The work of that key, started now if it is new or was abandoned.

        `elsewhere` waits for the answer of another process; None: it has none.
        """
        with self._lock:
            work = self._known.get(key)
            if work is not None and (work.answer is not None or not work.abandoned):
                return work
            self._forget_some()
            work = self._known[key] = Work()
            self._in_front += not behind
        thread = threading.Thread(
            target=self._run, args=(work, function, behind, elsewhere), daemon=True,
            name=f"work {key!r:.60}",
        )  # fmt: skip
        thread.start()
        return work

    def answer(self, key: Hashable) -> Answer | None:
        """The answer that is remembered of that key, if there is one."""
        work = self._known.get(key)
        return None if work is None else work.answer

    def drop(self, key: Hashable) -> None:
        """Cancel the work of that key and forget its answer."""
        with self._lock:
            work = self._known.pop(key, None)
        if work is not None:
            work.cancel()

    def forget(self) -> None:
        """Cancel all work, remember none, and wait a moment until it has let go of its files."""
        with self._lock:
            works = list(self._known.values())
            self._known.clear()
        for work in works:
            work.cancel()
        for work in works:
            work.wait(_PATIENCE_S)

    def settle(self) -> None:
        """Wait until all known work has ended."""
        with self._lock:
            works = list(self._known.values())
        for work in works:
            work.wait()

    def _run(
        self,
        work: Work,
        function: Callable[[Report], Answer],
        behind: bool,
        elsewhere: Task | None,
    ) -> None:
        lane = self._lanes[behind]
        try:
            if elsewhere is not None and work.run(elsewhere):
                return
            while not lane.acquire(timeout=_PAUSE_S):
                if work.cancelled:  # it need not wait for its turn to end
                    work.run(function)
                    return
            try:
                work.run(function, lambda: not (behind and self._in_front))
            finally:
                lane.release()
        finally:
            with self._lock:
                self._in_front -= not behind

    def _forget_some(self) -> None:
        ended = [key for key, work in self._known.items() if work.ended]
        for key in ended[: max(0, len(self._known) - _KEPT)]:
            del self._known[key]
