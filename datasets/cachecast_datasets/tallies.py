"""What an import counts while rows go by."""

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import xxhash

from cachecast_datasets.errors import LogError
from cachecast_datasets.request import Request
from cachecast_datasets.summary import Skip


class SkipTally:
    """Faults by reason, each with its first message."""

    def __init__(self) -> None:
        self._found: dict[str, tuple[int, str]] = {}

    def add(self, reason: str, message: str) -> None:
        """One more fault."""
        count, example = self._found.get(reason, (0, message))
        self._found[reason] = (count + 1, example)

    def problem(self, problem: LogError) -> None:
        """One more fault, as its own message tells it."""
        self.add(problem.reason, str(problem))

    def skips(self) -> list[Skip]:
        """The most frequent first."""
        ordered = sorted(self._found.items(), key=lambda item: (-item[1][0], item[0]))
        return [Skip(reason, count, example) for reason, (count, example) in ordered]


class Tally:
    """Sessions, models and the period of the requests that are written."""

    def __init__(self) -> None:
        self._sessions: set[int] = set()  # hashes: a session costs the same whatever its name
        self._models: set[str] = set()
        self._first_us: int | None = None
        self._last_us = 0

    def add(self, requests: Iterable[Request]) -> None:
        """Count requests, which come in order of arrival."""
        for request in requests:
            if request.session_id is not None:
                self._sessions.add(_session_hash(request.session_id))
            if request.model is not None:
                self._models.add(request.model)
            if self._first_us is None:
                self._first_us = request.arrival_us
            self._last_us = request.arrival_us

    def add_batch(self, rows: pa.RecordBatch) -> None:
        """The same for rows in SCHEMA's types, of which some may lack a session or model."""
        if not rows.num_rows:
            return
        self._sessions.update(map(_session_hash, _distinct(rows, "session_id")))
        self._models.update(_distinct(rows, "model"))
        first, last = (rows.column("arrival")[at].value for at in (0, -1))
        self._first_us = first if self._first_us is None else self._first_us
        self._last_us = last

    @property
    def sessions(self) -> int:
        """How many distinct session ids there are."""
        return len(self._sessions)

    @property
    def models(self) -> list[str]:
        """The distinct model ids, sorted."""
        return sorted(self._models)

    def period(self, time_origin: str) -> tuple[str, str] | tuple[float, float] | None:
        """First and last arrival: RFC 3339 if absolute, else seconds from the log's zero."""
        if self._first_us is None:
            return None
        if time_origin == "absolute":
            return _rfc3339(self._first_us), _rfc3339(self._last_us)
        return self._first_us / 1_000_000, self._last_us / 1_000_000


def _distinct(rows: pa.RecordBatch, name: str) -> list[str]:
    """The texts of a column, which may be missing."""
    if name not in rows.schema.names:
        return []
    return list(rows.column(name).unique().drop_null().to_pylist())


def _session_hash(name: str) -> int:
    return xxhash.xxh64_intdigest(name.encode())


def _rfc3339(us: int) -> str:
    text = str(np.datetime64(us, "us"))
    return text.removesuffix(".000000") + "Z"
