"""JSON Lines in which every line is a request of its own."""

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import TypeVar

import msgspec

from cachecast_datasets.errors import LogError, at
from cachecast_datasets.json_faults import decode
from cachecast_datasets.request import Request
from cachecast_datasets.source import Source, read_lines

_Row = TypeVar("_Row")


def requests_by_line(
    source: Source,
    decoder: msgspec.json.Decoder[_Row],
    request_of: Callable[[Source, int, _Row], Request],
    keys: Mapping[str, Collection[str]] | None = None,
) -> Iterator[Request]:
    """`request_of(source, line number, row)` for each line; bad lines go to `source.bad`.

    `request_of` may raise ValueError: the message gets the line as its place. `keys` are the known
    keys, for messages (see `json_faults.decode`).
    """
    for number, line in read_lines(source):
        try:
            row = decode(decoder, line, source.label, number, keys=keys)
            yield request_of(source, number, row)
        except ValueError as problem:
            source.bad(at(source.label, number, str(problem)))
        except LogError as problem:
            source.bad(problem)
