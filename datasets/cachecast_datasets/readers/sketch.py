"""Sketch JSONL: a log that a person writes by hand, one request a line (docs, tests, bug reports).

`{"at": 0, "model": "…", "output": 120, "prompt": [[section, name, tokens, marker, options], …]}`
Equal names mean equal content.
"""

from collections.abc import Iterator
from typing import Annotated, Any

import msgspec

from cachecast_datasets.checks import shown
from cachecast_datasets.errors import LogError, at
from cachecast_datasets.hashing import content_hash
from cachecast_datasets.json_faults import decode
from cachecast_datasets.readers.reader import Head, Reader
from cachecast_datasets.readers.times import microseconds, moment_us
from cachecast_datasets.request import KINDS, MARKERS, SECTIONS, STATUSES, ContentBlock, Request
from cachecast_datasets.request_log import LogMeta
from cachecast_datasets.source import Source, read_lines

CACHE_MODES = ("auto", "auto:5m", "auto:1h", "implicit", "explicit", "none")
ITEM = {0: "section", 1: "name", 2: "tokens", 3: "marker", 4: "options"}
META = LogMeta("sketch", "blocks", carries_markers=True)

_Count = Annotated[int, msgspec.Meta(ge=0, le=2**62)]
_Seconds = Annotated[float, msgspec.Meta(ge=0)]


class _Options(msgspec.Struct, forbid_unknown_fields=True):
    kind: str | None = None
    join: bool = False
    canonical: str | None = None
    masked: str | None = None


class _Item(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    section: str
    name: str
    tokens: _Count
    marker: str | None = None
    options: _Options | None = None


class _Line(msgspec.Struct, forbid_unknown_fields=True):
    at: float | str
    prompt: list[_Item]
    id: str | int | None = None
    ttft: _Seconds | msgspec.UnsetType | None = msgspec.UNSET
    took: _Seconds | None = None
    model: str | None = None
    account: str | None = None
    session: str | None = None
    output: _Count | None = None
    answer: str | None = None
    settings: dict[str, Any] = {}
    cache: str | None = None
    status: str | None = None
    batch: bool | None = None
    tier: str | None = None
    prewarm: bool | None = None
    host: str | None = None


_DECODER = msgspec.json.Decoder(_Line)
_KEYS = ", ".join(_Line.__struct_fields__)
_OPTION_KEYS = ", ".join(_Options.__struct_fields__)


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
        self.absolute: bool | None = None
        self._first_line = 0
        self._sizes: dict[int, tuple[int, int]] = {}  # content hash -> (tokens, line)

    def request(self, number: int, line: bytes) -> Request:
        """The request of one line. LogError with file, line, field, value and what is accepted."""
        try:
            row = decode(_DECODER, line, self._source.label, number, ITEM)
        except LogError as problem:
            raise _with_keys(problem) from problem
        try:
            arrival_us = self._arrival(row.at, number)
            blocks = self._blocks(row.prompt, number)
            status = _status(row)
            _accept("cache", row.cache, CACHE_MODES)
        except ValueError as problem:
            raise at(self._source.label, number, str(problem)) from problem
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
            settings=_settings(row),
            cache_mode=row.cache,
            blocks=blocks,
            answer_hash=None if row.answer is None else content_hash(row.answer.encode()),
            prompt_tokens=sum(block.tokens for block in blocks),
            output_tokens=row.output,
            tools_tokens=sum(block.tokens for block in blocks if block.section == "tools"),
            system_tokens=sum(block.tokens for block in blocks if block.section == "system"),
            status=status,
            source_line=number,
        )

    def _arrival(self, value: float | str, number: int) -> int:
        absolute = isinstance(value, str)
        us = moment_us(value, "at") if isinstance(value, str) else microseconds(value, "at")
        if self.absolute is None:
            self.absolute, self._first_line = absolute, number
        elif absolute != self.absolute:
            kinds = ("seconds", "RFC 3339")
            raise ValueError(
                f"at is {shown(value)} ({kinds[absolute]}), but line {self._first_line} uses "
                f"{kinds[self.absolute]}; expected one kind of time in a file"
            )
        return us

    def _blocks(self, items: list[_Item], number: int) -> list[ContentBlock]:
        blocks: list[ContentBlock] = []
        message = -1
        new_sizes: dict[int, tuple[int, int]] = {}
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
            tokens, line = self._sizes.get(block.hash) or new_sizes.get(block.hash, (-1, 0))
            if tokens == -1:
                new_sizes[block.hash] = (item.tokens, number)
            elif tokens != item.tokens:
                raise ValueError(
                    f"{where}.tokens of {shown(item.name)} is {item.tokens}, but line "
                    f"{line} gives it {tokens}; equal names mean equal content, "
                    f"expected {tokens} or another name"
                )
            blocks.append(block)
        self._sizes |= new_sizes
        return blocks


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


def _with_keys(problem: LogError) -> LogError:
    """An unknown key's message also lists the known ones."""
    text = str(problem)
    if not text.endswith("is not a known key"):
        return problem
    known = _OPTION_KEYS if ".options." in text else _KEYS
    better = LogError(f"{text}, expected one of {known}")
    better.reason = problem.reason
    return better


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
