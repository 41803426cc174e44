"""A cachecast Parquet, opened for streaming."""

from collections.abc import Collection, Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from cachecast_datasets.request import Request
from cachecast_datasets.request_log import LogMeta


class Trace:
    """A request log: iterate it for whole requests, or ask `requests` for a few columns."""

    path: Path
    meta: LogMeta
    rows: int
    warnings: list[str]

    def __iter__(self) -> Iterator[Request]:
        return self.requests()

    def requests(
        self,
        *,
        columns: Collection[str] | None = None,
        where: npt.NDArray[np.bool_] | None = None,
    ) -> Iterator[Request]:
        """Requests by arrival; only `columns` are decoded (request_id and arrival always).

        `where` has one truth value per row of the file, in file order.
        """
        raise NotImplementedError


def open_trace(path: Path) -> Trace:
    """The cachecast Parquet at `path`. LogError if it is not one."""
    raise NotImplementedError
