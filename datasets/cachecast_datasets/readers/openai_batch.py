"""OpenAI Batch: input JSONL and output JSONL (and the file of errors), joined on `custom_id`.

Input `{custom_id, method, url, body}`, output `{id, custom_id, response: {status_code, body},
error}`. A batch runs at any time within a day; what is known is when each response was created.
"""

from collections.abc import Iterator
from typing import Any

from cachecast_datasets.callers import split_url
from cachecast_datasets.log_meta import LogMeta
from cachecast_datasets.readers.batch_files import Answer, Batch
from cachecast_datasets.readers.batch_files import read as read_batch
from cachecast_datasets.readers.pair_times import created_in
from cachecast_datasets.readers.reader import Head, Reader
from cachecast_datasets.request import Request
from cachecast_datasets.source import Source

META = LogMeta("openai-batch", "text", carries_markers=True, text_seen=True)


def read(source: Source) -> Iterator[Request]:
    """One request for each custom_id."""
    return read_batch(source, _BATCH)


def _is_request(row: dict[str, Any]) -> bool:
    return "url" in row and "body" in row


def _body_of(row: dict[str, Any]) -> tuple[Any, str | None]:
    url = row.get("url")
    return row.get("body"), split_url(url)[1] if isinstance(url, str) else None


def _answer_of(row: dict[str, Any]) -> Answer:
    response, error = row.get("response"), row.get("error")
    if isinstance(response, dict):
        code, body = response.get("status_code"), response.get("body")
        reply = body if isinstance(body, dict) else None
        moment = None if reply is None else created_in([reply])
        return Answer(reply, code if isinstance(code, int) else None, moment)
    if isinstance(error, dict):
        return Answer({"error": error}, None, None)
    raise ValueError("has neither a response nor an error, expected one of both")


def _recognises(head: Head) -> bool:
    keys = head.keys
    if "custom_id" not in keys:
        return False
    return {"url", "body"} <= keys or ("response" in keys and "error" in keys)


_BATCH = Batch(META, _is_request, _body_of, _answer_of)

READER = Reader(
    name="openai-batch",
    description='OpenAI batch JSONL, input and output ({"custom_id", "url", "body"})',
    recognises=_recognises,
    read=read,
    meta=META,
    became={
        "custom_id": "request_id; joins the input with the output",
        "body": "blocks and settings, as in provider-json",
        "response.body.usage": "observed, prompt_tokens, output_tokens",
        "response.body.created, created_at": "arrival, known to the second",
        "response.status_code, error": "status",
        "the file itself": "is_batch, service_tier = batch",
    },
    cannot_tell=(
        "when a request was sent: a batch runs at any time within a day",
        "the tokens that were written, in batches whose usage leaves them out",
    ),
)
