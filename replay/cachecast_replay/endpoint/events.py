"""Server-sent events out of bytes that arrive in any pieces."""

_LONGEST = 16 << 20  # bytes of one event; more is none


class TooLong(ValueError):
    """An event of a stream does not end."""


class EventDecoder:
    """`feed` gives the data of each event that is complete; lines may be cut anywhere.

    Comments (keep-alives) and other fields are skipped. Lines end in LF or CRLF; several data
    lines of an event are joined by LF. Rule: WHATWG HTML, server-sent events.
    """

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[bytes] = []
        self._data_bytes = 0

    def feed(self, piece: bytes) -> list[bytes]:
        """The data of the events that end in `piece`. TooLong for one that never ends."""
        *lines, self._rest = (self._rest + piece).split(b"\n")
        if len(self._rest) + self._data_bytes > _LONGEST:
            raise TooLong(f"sent an event of more than {_LONGEST:,} bytes")
        found = []
        for line in lines:
            clean = line.removesuffix(b"\r")
            if clean.startswith(b"data:"):
                self._data.append(clean[5:].removeprefix(b" "))
                self._data_bytes += len(clean)
            elif not clean and self._data:
                found.append(b"\n".join(self._data))
                self._data, self._data_bytes = [], 0
        return found

    def end(self) -> list[bytes]:
        """What is left when the stream ends without the blank line after its last event."""
        found = [b"\n".join(self._data)] if self._data else []
        if self._rest.startswith(b"data:"):
            found.append(self._rest[5:].removesuffix(b"\r").removeprefix(b" "))
        self._rest, self._data = b"", []
        return found
