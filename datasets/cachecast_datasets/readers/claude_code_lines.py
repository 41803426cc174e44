"""The lines of a Claude Code transcript: what is read of them, and what a line is."""

from typing import Annotated

import msgspec

from cachecast_datasets.readers.anthropic_usage import AnthropicUsage

_Cost = Annotated[float, msgspec.Meta(ge=0, le=1e9)]
SYNTHETIC = "<synthetic>"


class Message(msgspec.Struct):
    """What a user or assistant line carries; only assistant lines have an id, a model, a usage."""

    id: str | None = None
    role: str | None = None
    model: str | None = None
    stop_reason: str | None = None
    content: msgspec.Raw = msgspec.Raw()
    usage: msgspec.Raw = msgspec.Raw()


class Line(msgspec.Struct, rename="camel"):
    """One line. Everything is optional: old versions and other tools leave things out."""

    type: str | None = None
    uuid: str | None = None
    parent_uuid: str | None = None
    session_id: str | None = None
    timestamp: str | None = None
    request_id: str | None = None
    version: str | None = None
    agent_id: str | None = None
    is_sidechain: bool | None = None
    is_api_error_message: bool | None = None
    is_visible_in_transcript_only: bool | None = None
    cost: _Cost | None = msgspec.field(default=None, name="costUSD")
    message: msgspec.Raw = msgspec.Raw()
    attachment: msgspec.Raw = msgspec.Raw()


LINES = msgspec.json.Decoder(Line)
MESSAGES = msgspec.json.Decoder(Message)
USAGES = msgspec.json.Decoder(AnthropicUsage)


def is_given(raw: msgspec.Raw) -> bool:
    """Whether a field that is kept as bytes is there and not null."""
    data = bytes(raw)
    return data not in (b"", b"null")


def is_ours(line: Line) -> bool:
    """Whether this may be a transcript's line at all (and not some other JSON)."""
    return (
        is_given(line.message)
        or line.uuid is not None
        or (line.type is not None and line.session_id is not None)
        or line.type in ("summary", "file-history-snapshot", "queue-operation")
    )
