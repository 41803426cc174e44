"""Files that a person names for a few lines: a salt, a usage object, prices."""

from pathlib import Path

from cachecast_datasets.errors import BadInput

MOST_BYTES = 1 << 24


def read_small(path: Path) -> bytes:
    """The bytes of `path`, which may be a pipe. OSError if it cannot be read.

    Raises BadInput, without the place, for more than MOST_BYTES: a device has no end.
    """
    with path.open("rb") as stream:
        data = stream.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise BadInput(f"has more than {MOST_BYTES >> 20} MiB, expected a file of a few lines")
    return data
