"""A folder for temporary files that disappears, even if the process was killed."""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PREFIX = ".cachecast-import-"
_LOCK = "lock"


@contextmanager
def workspace(parent: Path) -> Iterator[Path]:
    """A new hidden folder in `parent`, removed at the end; leftovers of dead processes go too.

    A living process holds a lock on a file in its folder, which ends with the process.
    """
    _sweep(parent)
    folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
    lock = os.open(folder / _LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        with suppress(OSError):  # a file system without locks: nobody sweeps there either
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def _sweep(parent: Path) -> None:
    for leftover in parent.glob(f"{PREFIX}*"):
        with suppress(OSError):
            lock = os.open(leftover / _LOCK, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # OSError: somebody is at work
                shutil.rmtree(leftover, ignore_errors=True)
            finally:
                os.close(lock)
