"""What a log format is to the rest: how to recognise it and how to read it."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
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
    `files` lists the files of a folder that the format may be in, None where it reads no folders.
    `became` says of each field of the source what it is in the request log, `cannot_tell` what
    nobody can know from this format: docs/log-formats.md is made from them.
    """

    name: str
    description: str
    recognises: Callable[[Head], bool]
    read: Callable[[Source], Iterator[Request]]
    meta: LogMeta
    files: Callable[[Path], list[Path]] | None = None
    became: Mapping[str, str] = field(default_factory=dict)
    cannot_tell: tuple[str, ...] = ()
