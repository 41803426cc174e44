"""Requests enter the world at their arrival time, one after the other, never all at once."""

from collections.abc import Callable, Generator, Iterable

import simpy

from cachecast_datasets.request import Request


def arrivals(
    env: simpy.Environment, requests: Iterable[Request], arrive: Callable[[Request], None]
) -> Generator[simpy.Event, None, None]:
    """A SimPy process: calls `arrive` for each request at its `arrival_us`.

    Requests must be sorted by arrival; ties keep their order. Only the next request is held.
    """
    for request in requests:
        wait_us = request.arrival_us - env.now
        if wait_us > 0:
            yield env.timeout(wait_us)
        arrive(request)
