"""What a log format is to the rest: how to recognise it and how to read it."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from cachecast_datasets.request import Request
from cachecast_datasets.request_log import LogMeta
from cachecast_datasets.source import Source


@dataclass(frozen=True, slots=True)
class Head:
    """What sniffing knows of a file: its first bytes and the keys of its first JSON object.

    `row_keys` are the keys of the first row of a JSON array, or of an object that wraps the rows
    (with `data:` for the wrapper `data`); `columns` the header of a CSV.
    `values` are that object's values, undecoded; of a JSON array it is the first item's object,
    and `keys` are empty, `item_keys` its. Both are empty where the JSON is broken.
    """

    path: Path
    magic: bytes
    keys: frozenset[str]
    row_keys: frozenset[str] = frozenset()
    columns: tuple[str, ...] = ()
    values: Mapping[str, msgspec.Raw] = field(default_factory=dict)
    item_keys: frozenset[str] = frozenset()

    @property
    def fields(self) -> frozenset[str]:
        """The names of a row's fields, however the rows are kept."""
        return self.row_keys or self.keys or frozenset(self.columns)

    def inner_keys(self, name: str) -> frozenset[str]:
        """The keys of the object under `name`; none if it is no object."""
        try:
            return frozenset(msgspec.json.decode(self.values[name], type=dict[str, msgspec.Raw]))
        except (KeyError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return frozenset()


@dataclass(frozen=True, slots=True)
class Reader:
    """One log format. `read` may yield in any order; the import sorts.

    `meta` describes every log of the format; a reader that learns more sets `source.meta`.
    `files` lists the files of a folder that the format may be in, None where it reads no folders.
    `in_order`: rows usually come by arrival, ids are the reader's own and there are no accounts, so
    that a log may be streamed without an import.
    `became` says of each field of the source what it is in the request log, `cannot_tell` what
    nobody can know from this format: docs/log-formats.md is made from them.
    """

    name: str
    description: str
    recognises: Callable[[Head], bool]
    read: Callable[[Source], Iterator[Request]]
    meta: LogMeta
    files: Callable[[Path], list[Path]] | None = None
    in_order: bool = False
    became: Mapping[str, str] = field(default_factory=dict)
    cannot_tell: tuple[str, ...] = ()
