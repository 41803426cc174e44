"""What readers of API calls share: a clock for the file, and its metadata at the end."""

from collections.abc import Iterator

from cachecast_datasets.errors import LogError, at
from cachecast_datasets.exchange import Exchange, Reading
from cachecast_datasets.request import Request
from cachecast_datasets.request_log import LogMeta
from cachecast_datasets.source import Source
from cachecast_datasets.tokenizers import ESTIMATE

UNTIMED_STEP_US = 1_000_000


class Clock:
    """The times of one file: all absolute, all relative, or none at all."""

    def __init__(self) -> None:
        self.kind: str | None = None  # "absolute", "relative", "none"
        self._first = ""
        self._untimed = 0

    def arrival_us(self, moment: tuple[int, bool] | None, place: str) -> int:
        """The arrival. ValueError if this call's kind of time is not that of those before it."""
        kind = "none" if moment is None else "absolute" if moment[1] else "relative"
        if self.kind is None:
            self.kind, self._first = kind, place
        elif kind != self.kind:
            names = {"none": "no time", "absolute": "a date", "relative": "seconds"}
            raise ValueError(
                f"it has {names[kind]}, but {self._first} has {names[self.kind]}; expected one "
                "kind of time in a file"
            )
        if moment is not None:
            return moment[0]
        self._untimed += 1
        return (self._untimed - 1) * UNTIMED_STEP_US

    @property
    def notes(self) -> list[str]:
        """What a person should know of the times."""
        if self.kind != "none":
            return []
        return ["no times in the file: its requests are put one second apart, in file order"]


def reading_of(source: Source) -> Reading:
    """What the exchanges of a source share."""
    return Reading(source.tokenizer, source.texts)


def finish(source: Source, reading: Reading, clock: Clock, meta: LogMeta, prompts: bool) -> None:
    """Set the source's metadata and notes, once all its requests were read."""
    tokenizer = ESTIMATE if source.tokenizer is None else source.tokenizer.label()
    source.meta = LogMeta(
        meta.source_format,
        "text" if prompts else "counts",
        carries_markers=meta.carries_markers,
        time_origin="absolute" if clock.kind == "absolute" else "relative",
        tokenizer=tokenizer if prompts else None,
        text_seen=prompts,
    )
    source.notes.extend(reading.notes())
    source.notes.extend(clock.notes)


def timed(
    source: Source, reading: Reading, clock: Clock, exchange: Exchange,
    moment: tuple[int, bool] | None, place: str,
) -> Iterator[Request]:  # fmt: skip
    """The request of one exchange at its moment, or its fault told to the source."""
    try:
        request = reading.request(exchange)
        request.arrival_us = clock.arrival_us(moment, place)
    except ValueError as problem:
        source.bad(at(f"{source.label} {place}", None, str(problem)))
        return
    yield request


def fault(source: Source, place: str, problem: str, reason: str = "bad value") -> LogError:
    """A LogError at a place inside a file that has no lines."""
    return at(f"{source.label} {place}", None, problem, reason)
