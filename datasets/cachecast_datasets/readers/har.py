"""HAR 1.2 captures (browsers, mitmproxy): each entry that calls a model's API is one request.

`startedDateTime` is the true start. Secrets (keys, cookies) stay in this file: the account is a
hash of the key. WebSocket messages are counted, not read.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from cachecast_datasets.callers import account_of, api_of_path, split_url
from cachecast_datasets.errors import LogError
from cachecast_datasets.exchange import Exchange
from cachecast_datasets.json_depth import decoded_text
from cachecast_datasets.json_faults import decode
from cachecast_datasets.readers.exchanges import Clock, fault, finish, reading_of, timed
from cachecast_datasets.readers.har_bodies import Unreadable, body_text, headers_of
from cachecast_datasets.readers.reader import Head, Reader
from cachecast_datasets.readers.times import any_moment
from cachecast_datasets.replies.streams import Stream, looks_like_stream, stream_of
from cachecast_datasets.request import Request
from cachecast_datasets.request_log import LogMeta
from cachecast_datasets.shown import shown
from cachecast_datasets.source import Source, read_whole

META = LogMeta("har", "text", carries_markers=True, time_origin="absolute", text_seen=True)
_SESSIONS = ("x-claude-code-session-id", "session_id", "session-id", "x-session-id")


class _Log(msgspec.Struct):
    entries: list[dict[str, Any]]


class _Har(msgspec.Struct):
    log: _Log


_DECODER = msgspec.json.Decoder(_Har)


class _Skipped(Exception):
    """An entry that is none of ours; the message says what it is."""


def read(source: Source) -> Iterator[Request]:
    """One request for each call of a model."""
    try:
        har = decode(_DECODER, read_whole(source, source.path), source.label, None)
    except LogError as problem:
        source.bad(problem)
        return
    reading, clock = reading_of(source), Clock()
    clock.kind = "absolute"
    prompts = False
    for number, entry in enumerate(har.log.entries, start=1):
        place = f"entry {number}"
        try:
            exchange, moment = _exchange(source, entry, number)
        except _Skipped as skipped:
            reading.note(str(skipped))
            continue
        except ValueError as problem:
            source.bad(fault(source, place, str(problem)))
            continue
        if exchange.body is None:
            reading.note("a call without its request body: counts only")
        if exchange.reply is None:
            reading.note("a call without its response body: no usage")
        for request in timed(source, reading, clock, exchange, moment, place):
            prompts = prompts or request.blocks is not None
            yield request
    finish(source, reading, clock, META, prompts)


def _exchange(
    source: Source, entry: dict[str, Any], number: int
) -> tuple[Exchange, tuple[int, bool]]:
    asked, answered = entry.get("request"), entry.get("response")
    if not isinstance(asked, dict) or not isinstance(asked.get("url"), str):
        raise ValueError("request.url is missing, expected a HAR 1.2 entry")
    answered = answered if isinstance(answered, dict) else {}
    host, path = split_url(asked["url"])
    if "_webSocketMessages" in entry or asked["url"].startswith(("ws://", "wss://")):
        raise _Skipped("a WebSocket exchange, which is not read")
    if api_of_path(path) is None or asked.get("method") == "OPTIONS":
        raise _Skipped("an entry that calls no model")
    headers, reply_headers = headers_of(asked), headers_of(answered)
    try:
        sent = body_text(asked.get("postData"), headers)
        got = body_text(answered.get("content"), reply_headers)
    except Unreadable as problem:
        raise _Skipped(f"a call whose body is not readable: {problem}") from problem
    code = answered.get("status")
    exchange = Exchange(
        body=None if sent is None else _object(sent, "request body"),
        reply=_reply(got),
        fallback_id=f"{source.prefix}{number}",
        line=number,
        code=code if isinstance(code, int) else None,
        host=host,
        path=path,
        account=account_of(headers, reply_headers),
        session=next((headers[name] for name in _SESSIONS if headers.get(name)), None),
        betas=headers.get("anthropic-beta"),
    )
    started, total = entry.get("startedDateTime"), entry.get("time")
    if started is None:
        raise ValueError("startedDateTime is missing, expected RFC 3339")
    moment = any_moment(started, "startedDateTime")
    if not moment[1]:
        raise ValueError(f"startedDateTime is {started}, expected RFC 3339")
    whole = _ms(total)
    exchange.end_s = None if whole is None else whole / 1000
    timings = entry.get("timings")
    if isinstance(timings, dict) and isinstance(exchange.reply, Stream):
        parts = [_ms(timings.get(name)) for name in ("blocked", "dns", "connect", "send", "wait")]
        if parts[-1] is not None:  # `ssl` is inside `connect`
            exchange.first_token_s = sum(part for part in parts if part is not None) / 1000
    return exchange, moment


def _ms(value: Any) -> float | None:
    """Milliseconds; -1 in a HAR means that it does not apply."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e12:
        return None
    return value


def _reply(text: str | None) -> dict[str, Any] | Stream | None:
    if text is None:
        return None
    return stream_of(text) if looks_like_stream(text) else _object(text, "response body")


def _object(text: str, what: str) -> dict[str, Any]:
    try:
        value = decoded_text(text)
    except ValueError as problem:
        raise ValueError(f"the {what} is {shown(text)}, expected an object ({problem})") from None
    if not isinstance(value, dict):
        raise ValueError(f"the {what} is {shown(value)}, expected an object")
    return value


def _recognises(head: Head) -> bool:
    if not head.values:
        return {"log", "entries"} <= head.keys
    return "entries" in head.inner_keys("log")


READER = Reader(
    name="har",
    description='HAR 1.2 capture ({"log": {"entries": […]}})',
    recognises=_recognises,
    read=read,
    meta=META,
    became={
        "startedDateTime, time": "arrival, end_s",
        "timings.blocked … wait": "first_token_s of a stream (its first byte)",
        "request.postData.text": "blocks and settings, as in provider-json",
        "response.content.text": "observed, answer_hash; an event stream by its event types",
        "response.status": "status",
        "request.url": "provider, platform",
        "authorization, x-api-key": "account, as a hash; keys, cookies, all headers are dropped",
    },
    cannot_tell=(
        "what went over a WebSocket",
        "bodies that the exporter left out or cut",
        "tokens of a single block: the reported total is split by a tokenizer or by bytes",
    ),
)
