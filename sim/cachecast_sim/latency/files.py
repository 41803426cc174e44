"""What latency models need from files; whoever starts a simulation reads them."""

from collections.abc import Sequence
from typing import Protocol

from cachecast_datasets.errors import BadInput


class LatencyFiles(Protocol):
    """Reads what a `[latency]` or `[engine]` table points to; paths as they stand in the table."""

    def text(self, path: str) -> str:
        """The whole file as UTF-8 text; BadInput if it cannot be read."""
        ...

    def step_durations_ns(self, run: str) -> Sequence[int]:
        """Durations of a replay's steps in order, from its run folder; BadInput if it has none."""
        ...


class NoFiles:
    """Where nothing can be read: every path is bad input."""

    def text(self, path: str) -> str:
        """Always BadInput."""
        raise BadInput(f"{path}: files cannot be read here")

    def step_durations_ns(self, run: str) -> Sequence[int]:
        """Always BadInput."""
        raise BadInput(f"{run}: files cannot be read here")
