"""Requests straight from a log that is sorted already: no Parquet in between.

For whoever needs each request once and in order, such as a simulation that starts while the log is
still being read.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

from cachecast_datasets.request import Request
from cachecast_datasets.source import Source
from cachecast_datasets.sources import size_of, sniff

Progress = Callable[[str, int, int], None]


class OutOfOrder(Exception):
    """The log is not sorted by arrival after all: it has to be imported."""


def stream(path: Path, progress: Progress) -> Iterator[Request] | None:
    """The requests of one log by arrival, or None if its format has to be imported first.

    Only formats whose rows are numbered by the reader, so that ids are unique, and carry no
    accounts. Raises LogError as an import would, and OutOfOrder at the first request that is
    earlier than the one before.
    """
    reader = sniff(path)
    if not reader.in_order:
        return None
    total = size_of(path)
    source = Source(path, position=lambda used: progress("simulating", used, total))
    return _checked(reader.read(source))


def _checked(requests: Iterator[Request]) -> Iterator[Request]:
    last_us = -1 << 62
    for request in requests:
        if request.arrival_us < last_us:
            raise OutOfOrder
        last_us = request.arrival_us
        yield request
