"""Write a synthetic log: whole or not at all, the same bytes for the same parameters and seed."""

import os
from contextlib import suppress
from pathlib import Path

from cachecast_datasets.errors import BadInput
from cachecast_datasets.synthetic.calls import calls
from cachecast_datasets.synthetic.lines import Line
from cachecast_datasets.synthetic.workload import Workload


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

    BadInput if `out` exists and not `force`, or cannot be written.
    """
    if out.exists() and not force:
        raise BadInput(f"{out}: exists already, expected a new file (or --force)")
    partial = out.with_name(f".{out.name}.{os.getpid()}.partial")
    written, seen = 0, set()
    try:
        with partial.open("wb") as stream:
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
