"""A fault of one request, found while it was simulated, is told with the log that holds it."""

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from cachecast_datasets.errors import BadInput, EvidenceError, RequestFault


@contextlib.contextmanager
def naming(logs: Sequence[Path]) -> Iterator[None]:
    """Put the logs' names before what is said of a request inside."""
    try:
        yield
    except RequestFault as problem:
        kind = EvidenceError if isinstance(problem, EvidenceError) else BadInput
        raise kind(f"{', '.join(map(str, logs))}: {problem}") from None
