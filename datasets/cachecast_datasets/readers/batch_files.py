"""Batches: requests in one file, answers in others, joined on `custom_id` whatever their order.

All files of one import that belong to the same kind of batch are read together by the first of
them; the others yield nothing. The requests are held in memory: a batch has at most 100,000 of
them and 256 MB.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import msgspec

from cachecast_datasets.callers import api_of_path
from cachecast_datasets.errors import LogError, at
from cachecast_datasets.exchange import Exchange
from cachecast_datasets.json_faults import decode
from cachecast_datasets.readers.exchanges import Clock, fault, finish, reading_of, timed
from cachecast_datasets.request import Request
from cachecast_datasets.request_log import LogMeta
from cachecast_datasets.source import Source, read_lines

DAY_S = 86_400.0
_DECODER = msgspec.json.Decoder(dict[str, Any])


class Line(NamedTuple):
    """One line of a batch file."""

    source: Source
    number: int
    row: dict[str, Any]

    @property
    def place(self) -> str:
        """Where it is, inside its file."""
        return f"line {self.number}"


class Answer(NamedTuple):
    """What a line of an output file says: the response, its HTTP status, when it was made."""

    reply: dict[str, Any] | None
    code: int | None
    moment: tuple[int, bool] | None


class Batch(NamedTuple):
    """How one provider's batch files look."""

    meta: LogMeta
    is_request: Callable[[dict[str, Any]], bool]
    body_of: Callable[[dict[str, Any]], tuple[Any, str | None]]  # (body, path)
    answer_of: Callable[[dict[str, Any]], Answer]


def read(source: Source, batch: Batch) -> Iterator[Request]:
    """The requests of all batch files of the import, in the order of their answers."""
    paths = source.beside or (source.path,)
    files = [
        source if path == source.path
        else Source(path, bad=source.bad, skip_bad=source.skip_bad)
        for path in dict.fromkeys(paths)
    ]  # fmt: skip
    reading, clock = reading_of(source), Clock()
    asked, answers = _sorted_out(files, batch)
    moments = [answer.moment for _, answer in answers if answer.moment is not None]
    start = min(moments) if moments else None
    if files and files[0].path != source.path:  # the first of them has read all
        clock.kind = "none" if start is None else "absolute"
        finish(source, reading, clock, batch.meta, bool(asked))
        source.notes.clear()
        return
    seen: set[str] = set()
    for line, answer in answers:
        name = line.row["custom_id"]
        seen.add(name)
        question = asked.get(name)
        if question is None:
            reading.note("an answer whose request is in none of the files: counts only")
        uncertainty = None if answer.moment is None else 1.0
        moment = answer.moment or start
        yield from _one(line, question, answer, moment, uncertainty or DAY_S, reading, clock, batch)
    for name, line in asked.items():
        if name not in seen:
            if answers:
                reading.note(
                    "a request without an answer: not sent yet, expired or in another file"
                )
            yield from _one(line, line, None, start, DAY_S, reading, clock, batch)
    finish(source, reading, clock, batch.meta, bool(asked))


def _sorted_out(
    files: list[Source], batch: Batch
) -> tuple[dict[str, Line], list[tuple[Line, Answer]]]:
    """Requests by custom_id, and answers in file order."""
    asked: dict[str, Line] = {}
    answers: list[tuple[Line, Answer]] = []
    for line in _lines(files):
        name = line.row.get("custom_id")
        if not isinstance(name, str):
            problem = "custom_id is missing, expected a string"
            line.source.bad(fault(line.source, line.place, problem))
        elif not batch.is_request(line.row):
            try:
                answers.append((line, batch.answer_of(line.row)))
            except ValueError as problem:
                line.source.bad(fault(line.source, line.place, str(problem)))
        elif name in asked:
            other = asked[name]
            text = f"custom_id is {name!r}, which line {other.number} already has"
            line.source.bad(at(line.source.label, line.number, text, "duplicate id"))
        else:
            asked[name] = line
    return asked, answers


def _lines(files: list[Source]) -> Iterator[Line]:
    for file in files:
        for number, text in read_lines(file):
            try:
                row = decode(_DECODER, text, file.label, number)
            except LogError as problem:
                file.bad(problem)
            else:
                yield Line(file, number, row)


def _one(
    line: Line, question: Line | None, answer: Answer | None, moment: tuple[int, bool] | None,
    uncertainty: float, reading: Any, clock: Clock, batch: Batch,
) -> Iterator[Request]:  # fmt: skip
    body, path = (None, None) if question is None else batch.body_of(question.row)
    if body is not None and not isinstance(body, dict):
        line.source.bad(fault(line.source, line.place, "the request has no body object"))
        return
    if path is not None and api_of_path(path) is None:
        reading.note(f"{path}: no call of a language model, left out")
        return
    exchange = Exchange(
        body=body,
        reply=None if answer is None else answer.reply,
        fallback_id=line.row["custom_id"],
        given_id=line.row["custom_id"],
        line=line.number,
        code=None if answer is None else answer.code,
        path=path,
        is_batch=True,
    )
    for request in timed(line.source, reading, clock, exchange, moment, line.place):
        request.service_tier = "batch"
        request.arrival_uncertainty_s = None if moment is None else uncertainty
        yield request
