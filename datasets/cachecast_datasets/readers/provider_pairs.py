"""Request and response pairs of Anthropic or OpenAI: JSONL, a JSON array, or one file a pair.

`{"request": {…}, "response": {…}, "start_time": …}` and the usual other names; a body may be an
object, a JSON string, an object with `body` and `headers`, or an event stream as text.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from cachecast_datasets.callers import account_of, split_url
from cachecast_datasets.checks import shown
from cachecast_datasets.errors import LogError
from cachecast_datasets.exchange import Exchange
from cachecast_datasets.json_depth import decoded_text
from cachecast_datasets.json_faults import decode
from cachecast_datasets.packed import DAMAGED, open_bytes
from cachecast_datasets.readers.exchanges import Clock, fault, finish, reading_of, timed
from cachecast_datasets.readers.pair_times import created_in, times_of
from cachecast_datasets.readers.reader import Head, Reader
from cachecast_datasets.replies.reply import word
from cachecast_datasets.replies.streams import Stream, looks_like_stream, stream_of
from cachecast_datasets.request import Request
from cachecast_datasets.request_log import LogMeta
from cachecast_datasets.source import Source, read_lines, read_whole

PAIRS = (
    ("request", "response"), ("req", "res"), ("req", "resp"), ("request_body", "response_body"),
    ("requestBody", "responseBody"), ("body", "response_body"), ("input", "output"),
)  # fmt: skip
IDS = ("request_id", "id", "custom_id")
SESSIONS = ("session_id", "sessionId", "conversation_id", "thread_id", "session")
ACCOUNTS = ("account", "api_key", "api_key_hash", "workspace_id", "organization_id", "team_id")
# rows of these are of other programs, with semantics of their own
_OTHERS = {
    "traceId", "trace_id", "usageDetails", "usage_details", "call_type", "log", "prompt_token_ids",
    "requests", "hash_ids", "observation",
}  # fmt: skip
_DECODER = msgspec.json.Decoder(dict[str, Any])
_ANY = msgspec.json.Decoder()
META = LogMeta("provider-json", "text", carries_markers=True, text_seen=True)


def read(source: Source) -> Iterator[Request]:
    """One request a pair; its id is the pair's own, else the response's, else its number."""
    reading, clock = reading_of(source), Clock()
    prompts = False
    for number, place, row in _rows(source):
        try:
            exchange, moment, uncertainty = _exchange(source, row, number)
        except ValueError as error:
            source.bad(fault(source, place, str(error)))
            continue
        if moment is None:
            moment, uncertainty = _created(exchange)
        for request in timed(source, reading, clock, exchange, moment, place):
            request.arrival_uncertainty_s = uncertainty
            prompts = prompts or request.blocks is not None
            yield request
    finish(source, reading, clock, META, prompts)


def _rows(source: Source) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """(number, place, object) of each pair: one a line, or of one JSON value."""
    if _by_lines(source):
        yield from _line_rows(source)
        return
    text = read_whole(source, source.path)
    try:
        value = decode(_ANY, text, source.label, None)
    except LogError as error:
        if any(_is_object(line) for line in text.split(b"\n")):
            yield from _line_rows(source)  # lines after all, of which the first is broken
        else:
            source.bad(error)
        return
    items = value if isinstance(value, list) else [value]
    for number, row in enumerate(items, start=1):
        if isinstance(row, dict):
            yield number, f"item {number}", row
        else:
            problem = f"is {shown(row)}, expected an object with a request and a response"
            source.bad(fault(source, f"item {number}", problem))


def _line_rows(source: Source) -> Iterator[tuple[int, str, dict[str, Any]]]:
    for number, line in read_lines(source):
        try:
            row = decode(_DECODER, line, source.label, number)
        except LogError as error:
            source.bad(error)
        else:
            yield number, f"line {number}", row


def _is_object(line: bytes) -> bool:
    """Whether the line, unindented, is one whole object: never so within indented JSON."""
    try:
        return line.startswith(b"{") and bool(_DECODER.decode(line))
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return False


def _by_lines(source: Source) -> bool:
    """Whether the first line is a whole object (JSONL), or looks like a broken one."""
    try:
        with open_bytes(source.path) as stream:
            line = stream.readline(1 << 28)
            while line and not line.strip():
                line = stream.readline(1 << 28)
    except DAMAGED:
        return True  # read line by line, it is told how much of the file is whole
    text = line.removeprefix(b"\xef\xbb\xbf").strip()
    return text.startswith(b"{") and len(text) > 2


def _pair(row: Mapping[str, Any]) -> tuple[Any, Any]:
    """The request and the response of a row. ValueError if it has none."""
    for one, other in PAIRS:
        if one in row and (other in row or one in ("request", "req")):
            return row[one], row.get(other)
    names = ", ".join(sorted(row)[:8])
    raise ValueError(f"has the keys {names}, expected a request and a response")


def _exchange(
    source: Source, row: Mapping[str, Any], number: int
) -> tuple[Exchange, tuple[int, bool] | None, float | None]:
    given, answer = _pair(row)
    headers, reply_headers = _headers(given), _headers(answer)
    body = _body(given, "request")
    if body is not None and not isinstance(body, dict):
        raise ValueError(f"request is {shown(body)}, expected an object")
    reply = _reply(_body(answer, "response"))
    moment, uncertainty, end_s, first_s = times_of(row)
    named = {name: row[name] for name in ("url", "path", "host") if isinstance(row.get(name), str)}
    if isinstance(given, dict):
        named |= {n: given[n] for n in ("url", "path", "host") if isinstance(given.get(n), str)}
    host, path = split_url(named.get("url", ""))
    own = next((row[name] for name in ACCOUNTS if word(row.get(name))), None)
    given_id = next((row[n] for n in IDS if isinstance(row.get(n), str | int)), None)
    exchange = Exchange(
        body=body,
        reply=reply,
        fallback_id=f"{source.prefix}{number}",
        line=number,
        given_id=None if given_id is None or given_id == "" else str(given_id),
        code=_code(row, answer),
        host=host or named.get("host"),
        path=path or named.get("path"),
        account=own or account_of(headers, reply_headers),
        session=next((row[name] for name in SESSIONS if word(row.get(name))), None),
        end_s=end_s,
        first_token_s=first_s,
        is_batch=True if row.get("batch") is True or row.get("is_batch") is True else None,
        betas=headers.get("anthropic-beta"),
    )
    return exchange, moment, uncertainty


def _code(row: Mapping[str, Any], answer: Any) -> int | None:
    places = [row, answer if isinstance(answer, dict) else {}]
    for place in places:
        for name in ("status_code", "statusCode", "status", "http_status"):
            value = place.get(name)
            if isinstance(value, int) and not isinstance(value, bool):
                return value
    return None


def _headers(side: Any) -> dict[str, str]:
    """Header names in lower case; used for the account and never handed on."""
    headers = side.get("headers") if isinstance(side, dict) else None
    if isinstance(headers, dict):
        return {str(k).lower(): v for k, v in headers.items() if isinstance(v, str)}
    return {}


def _body(side: Any, name: str) -> Any:
    """The body itself: unpacked from an HTTP message, parsed if it is JSON text."""
    if isinstance(side, dict) and "body" in side and not {"messages", "choices"} & side.keys():
        side = side["body"]
    if isinstance(side, str) and side.lstrip()[:1] in ("{", "["):
        try:
            return decoded_text(side)
        except ValueError as problem:
            text = f"{name} is {shown(side)}, expected an object ({problem})"
            raise ValueError(text) from None
    return side


def _reply(answer: Any) -> dict[str, Any] | Stream | None:
    if answer is None or answer == "":
        return None
    if isinstance(answer, str) and looks_like_stream(answer):
        return stream_of(answer)
    if isinstance(answer, list):
        events = [event for event in answer if isinstance(event, dict)]
        return Stream(events, broken=len(answer) - len(events))
    if isinstance(answer, dict):
        return answer
    raise ValueError(f"response is {shown(answer)}, expected an object or an event stream")


def _created(exchange: Exchange) -> tuple[tuple[int, bool] | None, float | None]:
    """OpenAI's responses say in which second they were created."""
    reply = exchange.reply
    found = created_in(reply.events if isinstance(reply, Stream) else [reply or {}])
    return (None, None) if found is None else (found, 1.0)


def _recognises(head: Head) -> bool:
    keys = head.keys or head.item_keys
    if keys & _OTHERS or ("prompt" in keys and "request" not in keys):
        return False
    if not head.values:  # a broken first line, or an item longer than the head: what can be seen
        asks = {one for one, _ in PAIRS[:-1]} & keys
        return bool(asks) and "model" in keys and bool(keys & {"messages", "input"})
    for one, other in PAIRS:
        if one not in keys or other not in keys:
            continue
        inner = head.inner_keys(one) or _keys_of_text(head, one)
        if "body" in inner:
            return True
        if "model" in inner and inner & {"messages", "input", "previous_response_id"}:
            return True
    return False


def _keys_of_text(head: Head, name: str) -> frozenset[str]:
    """The keys of a body that stands there as a JSON string."""
    try:
        text = msgspec.json.decode(head.values[name], type=str)
        return frozenset(msgspec.json.decode(text, type=dict[str, msgspec.Raw]))
    except (KeyError, msgspec.DecodeError, UnicodeError, RecursionError):
        return frozenset()


READER = Reader(
    name="provider-json",
    description='Anthropic or OpenAI pairs ({"request": {…}, "response": {…}}), JSONL or JSON',
    recognises=_recognises,
    read=read,
    meta=META,
    became={
        "request.tools, system, instructions, messages, input": "blocks, one a content part",
        "cache_control, prompt_cache_breakpoint": "blocks.marker; top-level: cache_mode",
        "tool_choice, thinking, effort, format, verbosity …": "settings (schemas as hashes)",
        "prompt_cache_key": "settings, as a hash",
        "usage": "observed, prompt_tokens, output_tokens",
        "usage.iterations": "observed (their sum), observed.iterations; prompt_tokens: the first's",
        "diagnostics, prompt_cache_diagnostics": "observed.diagnosis",
        "id": "response_id; request_id where the pair has none",
        "previous_response_id": "parent_request_id; no blocks: the history is on the server",
        "start_time …, end_time …, duration …, ttft …": "arrival, end_s, first_token_s",
        "metadata.user_id": "session_id (Claude Code's)",
        "authorization, x-api-key": "account, as a hash; the key is dropped",
    },
    cannot_tell=(
        "tokens of a single block: the reported total is split by a tokenizer or by bytes",
        "text that the provider adds (tool preambles, hidden system text)",
        "the history behind previous_response_id",
    ),
)
