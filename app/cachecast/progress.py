"""A progress bar on stderr for work that takes longer than a second."""

import contextlib
import time
from collections.abc import Callable, Iterator

from cachecast.output import notes

SHOW_AFTER_S = 1.0
REFRESH_S = 0.1

Report = Callable[[str, int, int], None]  # (what is being done, how much is done, of how much)


def nothing_to_report(what: str, done: int, total: int) -> None:
    """For work that nobody watches."""


@contextlib.contextmanager
def progress() -> Iterator[Report]:
    """A function to report progress with; nothing is shown where stderr is no terminal."""
    if not notes.is_terminal:
        yield lambda what, done, total: None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f} %"),
        TimeRemainingColumn(),
    )  # fmt: skip
    bar = Progress(*columns, console=notes.console, transient=True)
    task = bar.add_task("", total=None)
    started = time.monotonic()
    last = started

    def report(what: str, done: int, total: int) -> None:
        nonlocal last
        now = time.monotonic()
        if now - started < SHOW_AFTER_S or (now - last < REFRESH_S and done < total):
            return
        last = now
        bar.start()
        bar.update(task, description=what, completed=done, total=total)

    try:
        yield report
    finally:
        bar.stop()
