"""kv-cache-tester: one JSON file per Claude Code session, or a folder of them.

Blocks of 64 tokens, ids that name whole prefixes, the partial last block dropped; sub-agents
nested under a marker. Format: callanjfox/kv-cache-tester; read 2026-11.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import msgspec

from cachecast_datasets.checks import Bad
from cachecast_datasets.errors import LogError, at
from cachecast_datasets.files import files_below, ignored
from cachecast_datasets.hashing import scoped_ids
from cachecast_datasets.json_faults import decode, too_deep
from cachecast_datasets.packed import unpacked_name
from cachecast_datasets.readers.block_ids import check_block_count, id_array
from cachecast_datasets.readers.counts import Count
from cachecast_datasets.readers.reader import Head, Reader
from cachecast_datasets.readers.times import Seconds, microseconds
from cachecast_datasets.request import Request
from cachecast_datasets.request_log import LogMeta
from cachecast_datasets.shown import named, shown
from cachecast_datasets.source import Source, as_text, read_whole

_Id = Annotated[int, msgspec.Meta(ge=0)]
_Size = Annotated[int, msgspec.Meta(ge=1, le=2**31 - 1)]


class _Entry(msgspec.Struct):
    """A model call (`n` plain, `s` streamed) or a marker (`subagent`) with calls of its own."""

    t: Seconds
    type: str
    model: str | None = None
    in_tokens: Count | None = msgspec.field(default=None, name="in")
    out: Count | None = None
    input_types: list[str] | None = None
    output_types: list[str] | None = None
    api_time: Seconds | None = None
    ttft: Seconds | None = None
    think_time: Seconds | None = None
    hash_ids: list[_Id] | None = None
    requests: list["_Entry"] | None = None
    agent_id: str | None = None
    tool_tokens: Count | None = None
    system_tokens: Count | None = None
    nested_timestamp_basis: str | None = None


class _Session(msgspec.Struct):
    requests: list[_Entry]
    block_size: _Size
    hash_id_scope: str = "local"
    id: str | None = None
    tool_tokens: Count | None = None
    system_tokens: Count | None = None
    nested_timestamp_basis: str | None = None


_DECODER = msgspec.json.Decoder(_Session)
_PARTS = msgspec.json.Decoder(dict[str, msgspec.Raw])
_SHAPE = '{"block_size", "requests"}'


@dataclass(frozen=True, slots=True)
class _Thread:
    """What the calls of one list share: the session's own list or a sub-agent's."""

    path: str  # where the list is in the file, for messages
    prefix: str  # goes before the call's number in its id
    zero_s: float  # added to each t
    agent_id: str | None
    nested: bool
    tool_tokens: int | None
    system_tokens: int | None


def session_files(folder: Path, bad: Bad = ignored) -> list[Path]:
    """The JSON files below `folder`: see files_below."""
    return files_below(folder, (".json", ".json.gz", ".json.zst"), bad)


def read(source: Source) -> Iterator[Request]:
    """The requests of a session file, or of every session file of a folder."""
    done = 0
    folder = source.path.is_dir()
    for path in session_files(source.path, source.bad) if folder else [source.path]:
        source.file = path
        inside = as_text(path.relative_to(source.path).as_posix() if folder else path.name)
        try:
            yield from _session(source, path, inside)
            done += path.stat().st_size
        except LogError as problem:
            source.bad(problem)
        source.position(done)


def _session(source: Source, path: Path, inside: str) -> list[Request]:
    """All requests of one file, or none: a file with a fault is left out as a whole."""
    data = read_whole(source, path)
    try:
        session = decode(_DECODER, data, str(path), None)
    except LogError as problem:
        raise _other_kind(data, path) or problem from problem
    stem = f"{source.prefix}{unpacked_name(inside).removesuffix('.json')}"
    name = session.id if session.id is not None else stem
    if session.hash_id_scope not in ("local", "global"):
        fault = f"hash_id_scope is {shown(session.hash_id_scope)}, expected local or global"
        raise at(str(path), None, fault)
    scope = name if session.hash_id_scope == "local" else "global"
    main = _Thread(
        "requests", f"{name}/", 0.0, None, False, session.tool_tokens, session.system_tokens
    )
    try:
        return list(_calls(session, session.requests, main, name, scope, str(path)))
    except RecursionError as problem:
        raise too_deep(str(path), None) from problem


def _other_kind(data: bytes, path: Path) -> LogError | None:
    """The message for JSON that is something else altogether, None if it is a broken session."""
    try:
        parts = _PARTS.decode(data)
    except (msgspec.DecodeError, RecursionError):
        return None
    if "requests" in parts or "block_size" in parts:
        return None
    if bytes(parts.get("format", b"")) == b'"cachecast.run"':
        what = "is part of a cachecast run (ask that with cachecast sql)"
    else:
        keys = ", ".join(map(named, sorted(parts)[:8])) or "nothing"
        what = f"JSON with the keys {keys}" if parts else "JSON without keys"
    return at(str(path), None, f"{what}, expected a kv-cache-tester session ({_SHAPE})", "no log")


def _calls(
    session: _Session, entries: list[_Entry], thread: _Thread, name: str, scope: str, path: str
) -> Iterator[Request]:
    for index, entry in enumerate(entries):
        try:
            if entry.type in ("n", "s"):
                yield _request(session, entry, thread, name, scope, index + 1)
            elif entry.type == "subagent":
                inner = _sub_agent(session, entry, thread, index)
                yield from _calls(session, entry.requests or [], inner, name, scope, path)
            else:
                raise ValueError(f"type is {shown(entry.type)}, expected n, s or subagent")
        except ValueError as problem:
            raise at(path, None, f"{thread.path}[{index}].{problem}") from problem


def _sub_agent(session: _Session, marker: _Entry, thread: _Thread, index: int) -> _Thread:
    basis = marker.nested_timestamp_basis or session.nested_timestamp_basis or "relative"
    if basis not in ("relative", "absolute"):
        raise ValueError(f"nested_timestamp_basis is {shown(basis)}, expected relative or absolute")
    return _Thread(
        path=f"{thread.path}[{index}].requests",
        prefix=f"{thread.prefix}{index + 1}.",
        zero_s=thread.zero_s + marker.t if basis == "relative" else 0.0,
        agent_id=marker.agent_id or f"agent_{index + 1}",
        nested=True,
        tool_tokens=marker.tool_tokens,
        system_tokens=marker.system_tokens,
    )


def _request(
    session: _Session, entry: _Entry, thread: _Thread, name: str, scope: str, number: int
) -> Request:
    if entry.in_tokens is None:
        raise ValueError("in is missing, expected an integer >= 0")
    if entry.hash_ids is None:
        raise ValueError("hash_ids is missing, expected an array of ids")
    check_block_count("hash_ids", len(entry.hash_ids), entry.in_tokens, session.block_size)
    return Request(
        request_id=f"{thread.prefix}{number}",
        arrival_us=microseconds(thread.zero_s + entry.t, "t"),
        first_token_s=entry.ttft,
        end_s=entry.api_time,
        think_time_s=entry.think_time,
        session_id=name,
        agent_id=thread.agent_id,
        is_sidechain=thread.nested,
        model=entry.model,
        token_block_size=session.block_size,
        token_blocks=scoped_ids(scope, id_array(entry.hash_ids, "hash_ids")),
        hash_scope=scope,
        prompt_tokens=entry.in_tokens,
        output_tokens=entry.out,
        tools_tokens=thread.tool_tokens,
        system_tokens=thread.system_tokens,
        input_types=entry.input_types,
        output_types=entry.output_types,
        source_line=number,
    )


def _recognises(head: Head) -> bool:
    return {"requests", "block_size"} <= head.keys


READER = Reader(
    name="kv-cache-tester",
    description='kv-cache-tester JSON ({"block_size", "requests"}) or a folder of such files',
    recognises=_recognises,
    read=read,
    meta=LogMeta("kv-cache-tester", "token_blocks", carries_markers=False),
    became={
        "`t` (s); within a sub-agent from its marker, unless absolute": "`arrival`",
        "`in`, `out`": "`prompt_tokens`, `output_tokens`",
        "`hash_ids`": "`token_blocks` of `block_size` tokens, without the partial last one",
        "`hash_id_scope`": "the scope: the session's file if local",
        "`id` of the file, place in it": "`session_id`, `request_id`",
        "`ttft`, `api_time`, `think_time`": "`first_token_s`, `end_s`, `think_time_s`",
        "`model`": "`model`",
        "`tool_tokens`, `system_tokens`, a sub-agent's own": "`tools_tokens`, `system_tokens`",
        "`input_types`, `output_types`": "the same: kinds of content blocks, for the look-back",
        "`agent_id` of a sub-agent": "`agent_id`, `is_sidechain`",
    },
    cannot_tell=(
        "where markers stood",
        "what sessions share: their ids are local",
        "when sessions ran: all start at 0",
        "accounts, and what a provider reported",
    ),
    files=session_files,
)
