"""Write a synthetic log: whole or not at all, the same bytes for the same parameters and seed."""

import gzip
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, cast

import zstandard

from cachecast_datasets.errors import BadInput
from cachecast_datasets.synthetic.calls import calls
from cachecast_datasets.synthetic.lines import Line
from cachecast_datasets.synthetic.workload import Workload

# A turn repeats the whole prompt of the one before: the window must reach back over it.
_ZSTD = zstandard.ZstdCompressionParameters.from_level(9, window_log=24)


def generate(
    workload: Workload,
    out: Path,
    line: Line,
    *,
    requests: int,
    sessions: int | None = None,
    seed: int = 0,
    force: bool = False,
) -> tuple[int, int]:
    """(requests, sessions) that were written to `out`, in order of arrival.

    A name in .gz or .zst gets compressed lines, which every reader takes. BadInput if `out` exists
    and not `force`, or cannot be written.
    """
    if out.exists() and not force:
        raise BadInput(f"{out}: exists already, expected a new file (or --force)")
    partial = out.with_name(f".{out.name}.{os.getpid()}.partial")
    written, seen = 0, set()
    try:
        with _opened(partial, out.suffix) as stream:
            for call in calls(workload, seed, requests, sessions):
                stream.write(line(workload, call))
                written += 1
                seen.add(call.session)
        os.replace(partial, out)
    except OSError as problem:
        raise BadInput(f"{out}: cannot be written: {problem.strerror or problem}") from problem
    finally:
        with suppress(OSError):  # a read-only folder refuses even what is not there
            partial.unlink()
    return written, len(seen)


@contextmanager
def _opened(path: Path, suffix: str) -> Iterator[BinaryIO]:
    """`path` for writing, compressed where the suffix asks for it."""
    with path.open("wb") as raw:
        if suffix == ".gz":
            with gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as stream:
                yield cast(BinaryIO, stream)
        elif suffix == ".zst":
            with zstandard.ZstdCompressor(compression_params=_ZSTD).stream_writer(raw) as stream:
                yield stream
        else:
            yield raw
