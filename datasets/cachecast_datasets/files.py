"""Which files there are to read, and why one cannot be read."""

import os
import stat
from pathlib import Path

from cachecast_datasets.checks import Bad
from cachecast_datasets.errors import LogError, at
from cachecast_datasets.shown import shown


def ignored(problem: LogError) -> None:
    """For those who only look: the reader will tell of the fault."""


def files_below(folder: Path, endings: tuple[str, ...], bad: Bad = ignored) -> list[Path]:
    """The files of these endings below `folder`, in a fixed order, links and odd ones included.

    `bad` is told of a folder that may not be read.
    """

    def closed(problem: OSError) -> None:
        bad(cannot_be_read(Path(problem.filename), problem))

    return sorted(
        Path(place, name)
        for place, _, names in os.walk(folder, onerror=closed)
        for name in names
        if name.endswith(endings)
    )


def bytes_of(path: Path) -> int:
    """The size of a file; 0 for one that cannot be looked at, of which its reader tells."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


def unreadable(path: Path) -> LogError | None:
    """Why `path` cannot be read as a file or folder, None if it looks as if it can."""
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        what = "is a link to nothing" if path.is_symlink() else "no such file or folder"
        accepted = ", expected a file" if path.is_symlink() else ""
        return at(str(path), None, what + accepted, "missing file")
    except (OSError, ValueError) as problem:
        return cannot_be_read(path, problem)
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
        return None
    text = (
        "is a pipe or a device, which cannot be read twice, expected a file or a folder; "
        "write it to a file first"
    )
    return at(str(path), None, text, "unreadable")


def cannot_be_read(path: Path, problem: OSError | ValueError) -> LogError:
    """The sentence for a file that the system does not let us read."""
    why = getattr(problem, "strerror", None) or str(problem)
    name = shown(str(path)) if "\0" in str(path) else str(path)
    return at(name, None, f"cannot be read ({why}), expected a readable file", "unreadable")
