"""Server-sent events as text: their JSON data, and which API they are of."""

from typing import Any

from cachecast_datasets.json_depth import decoded_text


class Stream:
    """The events of one body.

    `done` if the closing [DONE] came, `broken` counts data that are no JSON (a cut last event).
    """

    def __init__(self, events: list[dict[str, Any]], done: bool = False, broken: int = 0) -> None:
        self.events = events
        self.done = done
        self.broken = broken

    @property
    def api(self) -> str | None:
        """`anthropic`, `chat` or `responses` by the first event that tells."""
        for event in self.events:
            kind = event.get("type")
            if isinstance(kind, str) and kind.startswith("response."):
                return "responses"
            if kind == "message_start":
                return "anthropic"
            if event.get("object") == "chat.completion.chunk" or "choices" in event:
                return "chat"
        return None


def looks_like_stream(text: str) -> bool:
    """Whether a body is an event stream."""
    head = text.lstrip("\ufeff \t\r\n")[:64]
    return head.startswith(("event:", "data:", ": ", ":\n", "id:", "retry:"))


def stream_of(text: str) -> Stream:
    """The events of an event-stream body, whatever its line ends."""
    stream = Stream([])
    data: list[str] = []
    for line in [*text.replace("\r\n", "\n").replace("\r", "\n").split("\n"), ""]:
        if line.startswith("data:"):
            data.append(line[5:].removeprefix(" "))
        elif not line and data:
            _take(stream, "\n".join(data))
            data = []
    return stream


def _take(stream: Stream, data: str) -> None:
    if data.strip() == "[DONE]":
        stream.done = True
        return
    try:
        event = decoded_text(data)
    except ValueError:
        event = None
    if isinstance(event, dict):
        stream.events.append(event)
    else:
        stream.broken += 1
