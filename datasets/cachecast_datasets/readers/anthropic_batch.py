"""Anthropic Message Batches: results JSONL, and the requests if somebody kept them.

Requests `{custom_id, params}`, results `{custom_id, result: {type, message | error}}`; the type is
succeeded, errored, canceled or expired.
"""

from collections.abc import Iterator
from typing import Any

from cachecast_datasets.log_meta import LogMeta
from cachecast_datasets.readers.batch_files import Answer, Batch
from cachecast_datasets.readers.batch_files import read as read_batch
from cachecast_datasets.readers.reader import Head, Reader
from cachecast_datasets.request import Request
from cachecast_datasets.shown import shown
from cachecast_datasets.source import Source

META = LogMeta("anthropic-batch", "text", carries_markers=True, text_seen=True)
_PATH = "/v1/messages"


def read(source: Source) -> Iterator[Request]:
    """One request for each custom_id."""
    return read_batch(source, _BATCH)


def _is_request(row: dict[str, Any]) -> bool:
    return "params" in row


def _body_of(row: dict[str, Any]) -> tuple[Any, str | None]:
    return row.get("params"), _PATH


def _answer_of(row: dict[str, Any]) -> Answer:
    result = row.get("result")
    kind = result.get("type") if isinstance(result, dict) else result
    if not isinstance(result, dict) or kind not in _KINDS:
        raise ValueError(f"result.type is {shown(kind)}, expected one of {', '.join(_KINDS)}")
    if kind == "succeeded":
        message = result.get("message")
        if not isinstance(message, dict):
            raise ValueError(f"result.message is {shown(message)}, expected an object")
        return Answer(message, None, None)
    error = result.get("error")
    if isinstance(error, dict) and isinstance(error.get("error"), dict):
        error = error["error"]
    if not isinstance(error, dict):
        error = {"type": "invalid_request_error"}  # canceled or expired: never processed
    return Answer({"type": "error", "error": error}, None, None)


_KINDS = ("succeeded", "errored", "canceled", "expired")


def _recognises(head: Head) -> bool:
    if "custom_id" not in head.keys:
        return False
    return "params" in head.keys or ("result" in head.keys and "response" not in head.keys)


_BATCH = Batch(META, _is_request, _body_of, _answer_of)

READER = Reader(
    name="anthropic-batch",
    description='Anthropic batch JSONL, requests and results ({"custom_id", "params" | "result"})',
    recognises=_recognises,
    read=read,
    meta=META,
    became={
        "custom_id": "request_id; joins the requests with the results",
        "params": "blocks and settings, as in provider-json",
        "result.message.usage": "observed, prompt_tokens, output_tokens",
        "result.type": "status: errored is error or rejected, canceled and expired are rejected",
        "the file itself": "is_batch, service_tier = batch",
    },
    cannot_tell=(
        "when a request was processed: the files hold no times, so lifetimes cannot be judged",
        "the prompts, where only the results were kept",
    ),
)
