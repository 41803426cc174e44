"""Where an import may write: never over an input, a device or somebody's link."""

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from cachecast_datasets.errors import BadInput
from cachecast_datasets.readers.kv_cache_tester import session_files


def check_output(out: Path, sources: Sequence[Path], force: bool) -> None:
    """BadInput unless a file may be put at `out`: nothing is there, or with `force` a file."""
    try:
        state = out.lstat()
    except (FileNotFoundError, NotADirectoryError):
        state = None
    except (OSError, ValueError) as problem:
        why = getattr(problem, "strerror", None) or str(problem)
        raise BadInput(f"{out}: cannot be written ({why}), expected another name") from problem
    if not out.parent.is_dir():
        raise BadInput(f"{out}: there is no folder {out.parent}, expected one that is there")
    if state is None:
        return
    if stat.S_ISLNK(state.st_mode):
        raise BadInput(f"{out}: is a link, expected the name of a new or a regular file")
    if not stat.S_ISREG(state.st_mode):
        kind = "a folder" if stat.S_ISDIR(state.st_mode) else "a pipe or a device"
        raise BadInput(f"{out}: is {kind}, expected the name of a new or a regular file")
    if any(os.path.samestat(state, other) for other in _states(sources)):
        raise BadInput(f"{out}: is an input of this import, expected another file")
    if not force:
        raise BadInput(f"{out}: exists already, expected a new file (or --force)")


def _states(sources: Sequence[Path]) -> Iterator[os.stat_result]:
    for source in sources:
        with suppress(OSError, ValueError):
            folder = source.is_dir()
            for path in session_files(source, lambda problem: None) if folder else [source]:
                with suppress(OSError):
                    yield path.stat()
