"""Sketch JSONL: a log that a person writes by hand, one request a line (docs, tests, bug reports).

`{"at": 0, "model": "…", "output": 120, "prompt": [[section, name, tokens, marker, options], …]}`
Equal names mean equal content.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from cachecast_datasets.content_names import place
from cachecast_datasets.errors import LogError, at
from cachecast_datasets.hashing import content_hash
from cachecast_datasets.json_faults import decode, too_deep
from cachecast_datasets.limits import MAX_TOKENS
from cachecast_datasets.log_meta import LogMeta
from cachecast_datasets.readers.counts import Count
from cachecast_datasets.readers.reader import Head, Reader
from cachecast_datasets.readers.times import Seconds, microseconds, moment_us
from cachecast_datasets.request import (
    CACHE_MODES,
    KINDS,
    MARKERS,
    SECTIONS,
    STATUSES,
    ContentBlock,
    Request,
)  # fmt: skip
from cachecast_datasets.shown import shown
from cachecast_datasets.source import Source, read_lines

ITEM = {0: "section", 1: "name", 2: "tokens", 3: "marker", 4: "options"}
META = LogMeta("sketch", "blocks", carries_markers=True)


class _Options(msgspec.Struct, forbid_unknown_fields=True):
    kind: str | None = None
    join: bool = False
    canonical: str | None = None
    masked: str | None = None


class _Item(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    section: str
    name: str
    tokens: Count
    marker: str | None = None
    options: _Options | None = None


class _Line(msgspec.Struct, forbid_unknown_fields=True):
    at: float | str
    prompt: list[_Item]
    id: str | int | None = None
    ttft: Seconds | msgspec.UnsetType | None = msgspec.UNSET
    took: Seconds | None = None
    model: str | None = None
    account: str | None = None
    session: str | None = None
    output: Count | None = None
    answer: str | None = None
    settings: dict[str, Any] = {}
    cache: str | None = None
    status: str | None = None
    batch: bool | None = None
    tier: str | None = None
    prewarm: bool | None = None
    host: str | None = None


_DECODER = msgspec.json.Decoder(_Line)
_KEYS = {"": _Line.__struct_fields__, "options": _Options.__struct_fields__}


def read(source: Source) -> Iterator[Request]:
    """One request a line; its id is the line's `id`, else the line number."""
    file = _File(source)
    for number, line in read_lines(source):
        try:
            yield file.request(number, line)
        except LogError as problem:
            source.bad(problem)
    source.meta = META if not file.absolute else _absolute(META)


def _absolute(meta: LogMeta) -> LogMeta:
    return LogMeta(meta.source_format, meta.evidence, meta.carries_markers, time_origin="absolute")


class _File:
    """What the lines of one sketch must agree on: the kind of time, and the size of a name."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._names = source.names
        self.absolute: bool | None = None
        self._first_line = 0

    def request(self, number: int, line: bytes) -> Request:
        """The request of one line. LogError with file, line, field, value and what is accepted."""
        label = self._source.label
        row = decode(_DECODER, line, label, number, ITEM, _KEYS)
        try:
            arrival_us = self._arrival(row.at)
            blocks, new = self._blocks(row.prompt, number)
            prompt_tokens = sum(block.tokens for block in blocks)
            if prompt_tokens > MAX_TOKENS:
                raise ValueError(
                    f"prompt has {prompt_tokens} tokens, expected at most {MAX_TOKENS}"
                )
            status = _status(row)
            _accept("cache", row.cache, CACHE_MODES)
            answer_hash = self._answer(row, new)
            settings = _settings(row)
        except ValueError as problem:
            raise at(label, number, str(problem)) from problem
        except RecursionError as problem:
            raise too_deep(label, number) from problem
        # the line is good as a whole: only now may later ones be measured by it
        if self.absolute is None:
            self.absolute, self._first_line = isinstance(row.at, str), number
        self._names.items |= new
        if answer_hash is not None and row.output is not None:
            self._names.answers.setdefault(answer_hash, (row.output, label, number))
        given = row.id if row.id is not None else f"{self._source.prefix}{number}"
        return Request(
            request_id=str(given),
            arrival_us=arrival_us,
            first_token_s=row.ttft if isinstance(row.ttft, float) else None,
            end_s=row.took,
            account=row.account,
            session_id=row.session,
            platform=row.host,
            model=row.model,
            service_tier=row.tier,
            is_batch=row.batch,
            settings=settings,
            cache_mode=row.cache,
            blocks=blocks,
            answer_hash=answer_hash,
            prompt_tokens=prompt_tokens,
            output_tokens=row.output,
            tools_tokens=sum(block.tokens for block in blocks if block.section == "tools"),
            system_tokens=sum(block.tokens for block in blocks if block.section == "system"),
            status=status,
            source_line=number,
        )

    def _arrival(self, value: float | str) -> int:
        absolute = isinstance(value, str)
        us = moment_us(value, "at") if isinstance(value, str) else microseconds(value, "at")
        if self.absolute is not None and absolute != self.absolute:
            kinds = ("seconds", "RFC 3339")
            raise ValueError(
                f"at is {shown(value)} ({kinds[absolute]}), but line {self._first_line} uses "
                f"{kinds[self.absolute]}; expected one kind of time in a file"
            )
        return us

    def _blocks(
        self, items: list[_Item], number: int
    ) -> tuple[list[ContentBlock], dict[int, tuple[int, str, int]]]:
        """The content blocks, and the sizes of names that no earlier line has."""
        blocks: list[ContentBlock] = []
        message = -1
        new: dict[int, tuple[int, str, int]] = {}
        label = self._source.label
        for index, item in enumerate(items):
            where = f"prompt[{index}]"
            options = item.options or _Options()
            _accept(f"{where}.section", item.section, SECTIONS)
            _accept(f"{where}.marker", item.marker, MARKERS)
            _accept(f"{where}.options.kind", options.kind, KINDS)
            if options.join and not blocks:
                raise ValueError(f"{where}.options.join is true, expected an item before it")
            message += not options.join
            block = _block(item, options, message)
            known = self._names.items.get(block.hash) or new.get(block.hash)
            if known is None:
                self._compare(where, item, block.hash)
                new[block.hash] = (item.tokens, label, number)
            elif known[0] != item.tokens:
                raise ValueError(
                    f"{where}.tokens of {shown(item.name)} is {item.tokens}, but "
                    f"{place(known, label)} gives it {known[0]}; equal names mean equal content, "
                    f"expected {known[0]} or another name"
                )
            blocks.append(block)
        return blocks, new

    def _compare(self, where: str, item: _Item, name: int) -> None:
        """An answer's output also holds its reasoning, so its text is not longer than that."""
        known = self._names.answers.get(name)
        if known is not None and item.tokens > known[0]:
            raise ValueError(
                f"{where}.tokens of {shown(item.name)} is {item.tokens}, but it is the answer of "
                f"{place(known, self._source.label)} with {known[0]} output tokens; expected at "
                f"most {known[0]} or another name"
            )

    def _answer(self, row: _Line, new: dict[int, tuple[int, str, int]]) -> int | None:
        if row.answer is None:
            return None
        name = content_hash(row.answer.encode())
        known = self._names.items.get(name) or new.get(name)
        if known is not None and row.output is not None and row.output < known[0]:
            raise ValueError(
                f"output is {row.output}, but its answer {shown(row.answer)} has {known[0]} tokens "
                f"in {place(known, self._source.label)}; expected at least {known[0]} or another "
                "name"
            )
        return name


def _block(item: _Item, options: _Options, message: int) -> ContentBlock:
    return ContentBlock(
        section=item.section,
        role=None if item.section == "tools" else item.section,
        kind=options.kind or ("tool_definition" if item.section == "tools" else "text"),
        message=message,
        tokens=item.tokens,
        hash=content_hash(item.name.encode()),
        canonical_hash=_optional_hash(options.canonical),
        masked_hash=_optional_hash(options.masked),
        marker=item.marker,
        label=item.name,
    )


def _optional_hash(name: str | None) -> int | None:
    return None if name is None else content_hash(name.encode())


def _status(row: _Line) -> str | None:
    _accept("status", row.status, STATUSES)
    if row.ttft is None and row.status == "ok":
        raise ValueError('ttft is null (never started), but status is "ok"; expected one of both')
    return row.status or ("aborted" if row.ttft is None else None)


def _settings(row: _Line) -> dict[str, str]:
    """Strings as they are, anything else as compact JSON with sorted keys."""
    settings = {
        key: value
        if isinstance(value, str)
        else msgspec.json.encode(value, order="sorted").decode()
        for key, value in row.settings.items()
    }
    if row.prewarm:
        settings["prewarm"] = "true"
    return settings


def _accept(field: str, value: str | None, known: tuple[str, ...]) -> None:
    if value is not None and value not in known:
        raise ValueError(f"{field} is {shown(value)}, expected one of {', '.join(known)}")


def _recognises(head: Head) -> bool:
    return "prompt" in head.keys and not {"prompt_token_ids", "requests"} & head.keys


READER = Reader(
    name="sketch",
    description='sketch JSONL ({"at": s, "prompt": [[section, name, tokens], …]})',
    recognises=_recognises,
    read=read,
    meta=META,
    became={
        "`at`": "`arrival`: seconds from the log's zero, or absolute",
        "`prompt`": "`blocks`: names become hashes; their tokens sum to `prompt_tokens`",
        "`prompt`, markers": "`blocks.marker`",
        "`prompt`, `canonical` and `masked`": "hashes that tell key order and volatile values",
        "`id`, else the line's number": "`request_id`",
        "`ttft`, `took`": "`first_token_s`, `end_s`; a null `ttft` means aborted, never started",
        "`model`, `tier`, `batch`, `host`": "`model`, `service_tier`, `is_batch`, `platform`",
        "`account`": "`account`, hashed",
        "`session`": "`session_id`",
        "`output`, `answer`": "`output_tokens`, `answer_hash`",
        "`settings`, `prewarm`, `cache`, `status`": "`settings`, `cache_mode`, `status`",
    },
    cannot_tell=(
        "what a provider reported: there is no observed usage",
        "key order or volatile values, where the writer did not name them",
    ),
)
