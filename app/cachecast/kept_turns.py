"""A log's columns for the columnar path, decoded once for all what-ifs of it."""

from collections.abc import Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from cachecast.progress import Report
from cachecast_datasets.request import Request
from cachecast_datasets.trace import Trace
from cachecast_datasets.turn_columns import BLOCKS, TurnColumns, turn_columns

MOST_BOUNDARIES = 2_000_000  # that are kept: some 360 MB of Python numbers

_T = TypeVar("_T")


class KeptTurns:
    """The turns of one log. Token blocks are read anew each time: they are the log's bulk."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._kept: list[TurnColumns] | None = None

    def batches(
        self, columns: Collection[str], name: str, report: Report
    ) -> Iterator[TurnColumns | list[Request]]:
        """All rows of the log, in batches, with those columns; reports how far it is as `name`."""
        done, found = 0, self._found(columns)
        for batch in found:
            report(name, done, self._trace.rows)
            yield batch
            done += batch.rows if isinstance(batch, TurnColumns) else len(batch)

    def _found(self, columns: Collection[str]) -> Iterator[TurnColumns | list[Request]]:
        kept = self._kept
        if kept is None:
            return self._decoded(columns)
        if BLOCKS not in columns:
            return iter(kept)
        blocks = read_ahead(self._trace.batches((BLOCKS,)))
        return (
            turns.with_blocks(batch.column(BLOCKS)) if BLOCKS in batch.schema.names else turns
            for turns, batch in zip(kept, blocks, strict=True)
        )

    def _decoded(self, columns: Collection[str]) -> Iterator[TurnColumns | list[Request]]:
        """Each batch as it is read; they are kept if all are columns, and not too many."""
        kept: list[TurnColumns] | None = []
        boundaries = 0
        for read in read_ahead(self._trace.batches(columns)):
            batch = turn_columns(read)
            yield batch
            if kept is None or not isinstance(batch, TurnColumns) or boundaries > MOST_BOUNDARIES:
                kept = None
                continue
            boundaries += len(batch.tokens)
            kept.append(batch.without_blocks())
        self._kept = kept


def read_ahead(items: Iterator[_T]) -> Iterator[_T]:
    """The same items, each made in a thread while the one before is worked on: where most of it is
    decoding, two cores share it."""
    with ThreadPoolExecutor(1, thread_name_prefix="reading ahead") as thread:
        following = thread.submit(next, items, None)
        while (item := following.result()) is not None:
            following = thread.submit(next, items, None)
            yield item
