"""A file that appears whole, under its own name, or not at all."""

import contextlib
import os
import tempfile
from pathlib import Path

from cachecast_datasets.errors import BadInput


def check_place(path: Path, force: bool) -> None:
    """BadInput, before any work, where no file could be written in the end."""
    place = path.resolve()
    if path.is_dir():
        raise BadInput(f"{path}: is a folder, expected the name of a file")
    if path.exists() and not force:
        raise BadInput(f"{path}: exists already; give another name, or --force")
    if not place.parent.is_dir():
        raise BadInput(f"{path}: the folder {place.parent} does not exist; make it first")
    try:
        with tempfile.TemporaryFile(dir=place.parent):
            pass
    except OSError as problem:
        raise BadInput(f"{path}: cannot be written: {problem.strerror}") from None


def write_whole(path: Path, data: bytes) -> None:
    """Replace `path` by these bytes. Where they cannot be written (OSError) the old file stays."""
    place = path.resolve()  # a link is followed, not replaced
    if place.exists() and not place.is_file():  # a pipe, /dev/stdout
        place.write_bytes(data)
        return
    partial = place.with_name(f".{place.name}.{os.getpid()}.part")
    try:
        partial.write_bytes(data)
        os.replace(partial, place)
    except BaseException:
        with contextlib.suppress(OSError):
            partial.unlink()
        raise
