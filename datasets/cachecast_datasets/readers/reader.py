"""What a log format is to the rest: how to recognise it and how to read it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from cachecast_datasets.request import Request
from cachecast_datasets.request_log import LogMeta
from cachecast_datasets.source import Source


@dataclass(frozen=True, slots=True)
class Head:
    """What sniffing knows of a file: its first bytes and the keys of its first JSON object."""

    path: Path
    magic: bytes
    keys: frozenset[str]


@dataclass(frozen=True, slots=True)
class Reader:
    """One log format. `read` may yield in any order; the import sorts.

    `meta` describes every log of the format; a reader that learns more sets `source.meta`.
    """

    name: str
    description: str
    recognises: Callable[[Head], bool]
    read: Callable[[Source], Iterator[Request]]
    meta: LogMeta
