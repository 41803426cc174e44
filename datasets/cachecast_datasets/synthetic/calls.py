"""The requests of a synthetic log, one by one in order of arrival; memory does not grow."""

import heapq
import random
from collections.abc import Iterator
from itertools import count

from cachecast_datasets.synthetic.sessions import Call, Session, exponential
from cachecast_datasets.synthetic.workload import Workload


def calls(
    workload: Workload, seed: int, requests: int, sessions: int | None = None
) -> Iterator[Call]:
    """The first `requests` by arrival, of at most `sessions` sessions."""
    starts = _starts(workload, seed, sessions)
    waiting: list[tuple[float, int, Call, Iterator[Call]]] = []
    coming = next(starts, None)
    for _ in range(requests):
        while coming is not None and (not waiting or coming[1] <= waiting[0][0]):
            number, start_s = coming
            rng = random.Random(f"{seed}/session/{number}")
            _push(waiting, number, Session(workload, rng, number, start_s).calls())
            coming = next(starts, None)
        if not waiting:
            return
        _, number, call, thread = heapq.heappop(waiting)
        yield call
        _push(waiting, number, thread)


def _push(
    waiting: list[tuple[float, int, Call, Iterator[Call]]], number: int, thread: Iterator[Call]
) -> None:
    call = next(thread, None)
    if call is not None:
        heapq.heappush(waiting, (call.at_s, number, call, thread))


def _starts(workload: Workload, seed: int, sessions: int | None) -> Iterator[tuple[int, float]]:
    """(number, start) of each session; the first one starts at 0."""
    rng, at_s = random.Random(f"{seed}/starts"), 0.0
    for number in count(1):
        if sessions is not None and number > sessions:
            return
        if number > 1 and (number - 1) % workload.burst == 0:
            at_s += exponential(rng, 3600 * workload.burst / workload.rate_per_hour)
        yield number, at_s
