"""Independent pieces of work in other processes, with results in the order of the pieces."""

import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import TypeVar

from cachecast_datasets.errors import BadInput

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")
_AHEAD = 2  # pieces for each process that may be done or under way before they are asked for


_MOST = 2  # what is left to the process that sorts and writes keeps it busy then


def reading_processes() -> int:
    """How many processes should read on this machine."""
    return min(_MOST, os.cpu_count() or 1)


def in_order(
    function: Callable[[_Item], _Result], items: Sequence[_Item], processes: int
) -> Iterator[_Result]:
    """`function` of each item, in their order; what it raises is raised here.

    With `processes` below 2 in this process. Else `function`, items and results must be picklable,
    and new interpreters are started: a fork would copy the locks of pyarrow's threads.
    """
    if processes < 2 or len(items) < 2:
        yield from map(function, items)
        return
    pool = ProcessPoolExecutor(
        min(processes, len(items)), multiprocessing.get_context("spawn"), _ignore_interrupts
    )
    waiting: deque[Future[_Result]] = deque()
    try:
        for item in items:
            waiting.append(pool.submit(function, item))
            if len(waiting) > _AHEAD * processes:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    except BrokenProcessPool as problem:
        text = "a process that helped with reading was ended from outside (no memory left?)"
        raise BadInput(f"{text}; read with one process instead") from problem
    finally:
        pool.shutdown(cancel_futures=True)


def _ignore_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that was asked ends the others
