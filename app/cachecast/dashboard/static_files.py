"""Streamlit's own files, out of memory: a new browser asks for a hundred before the first number.

Streamlit's handler takes 5 ms of the interpreter for each, by way of threads.
"""

import mimetypes
from collections.abc import Awaitable, Callable, MutableMapping
from pathlib import Path
from typing import Any

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]

_FOREVER = b"public, immutable, max-age=31536000"  # a name has the hash of its content


class StaticFiles:
    """A layer around an ASGI app that answers for the files of `root`/static itself.

    Each is read when it is first asked for; a path that names none of them is the app's.
    """

    def __init__(self, app: App, root: Path) -> None:
        self._app = app
        files = (root / "static").rglob("*")
        self._files = {f"/{file.relative_to(root).as_posix()}": file for file in files}
        self._read: dict[str, bytes] = {}

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        path = scope.get("path", "")
        file = self._files.get(path) if scope.get("method") == "GET" else None
        if file is None or not file.is_file():
            await self._app(scope, receive, send)
            return
        body = self._read.get(path)
        if body is None:
            body = self._read[path] = file.read_bytes()
        kind = mimetypes.guess_type(path)[0] or "application/octet-stream"
        headers = [
            (b"content-type", kind.encode()), (b"content-length", str(len(body)).encode()),
            (b"cache-control", _FOREVER),
        ]  # fmt: skip
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})
