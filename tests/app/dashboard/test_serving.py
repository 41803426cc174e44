"""The web server sends at once what it has, and Streamlit's own files out of memory."""

import asyncio
import socket
from pathlib import Path

import pytest

from cachecast.dashboard.serving import listening
from cachecast.dashboard.static_files import Message, Receive, Send, StaticFiles
from cachecast_datasets.errors import BadInput


def test_no_answer_waits_for_the_one_before_to_be_acknowledged() -> None:
    with listening("127.0.0.1", 0) as at, socket.create_connection(at.getsockname()):
        accepted, _ = at.accept()
        with accepted:
            # asyncio asks for the protocol before it switches Nagle's algorithm off
            assert accepted.proto == socket.IPPROTO_TCP
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_a_port_that_is_taken_names_the_option() -> None:
    with listening("127.0.0.1", 0) as at:
        port = at.getsockname()[1]
        with pytest.raises(BadInput, match=f"--port {port}: cannot be listened on"):
            listening("127.0.0.1", port)


async def _nothing() -> Message:
    return {"type": "http.request"}


async def _app(scope: Message, receive: Receive, send: Send) -> None:
    await send({"type": "the app's"})


def _sent(files: StaticFiles, path: str, method: str = "GET") -> list[Message]:
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    asyncio.run(files({"type": "http", "path": path, "method": method}, _nothing, send))
    return sent


@pytest.fixture
def files(tmp_path: Path) -> StaticFiles:
    script = tmp_path / "static" / "js" / "a.1234.js"
    script.parent.mkdir(parents=True)
    script.write_text("one()")
    (tmp_path / "secret.js").write_text("two()")
    return StaticFiles(_app, tmp_path)


def test_a_file_comes_whole_with_its_kind_and_is_kept_by_the_browser(files: StaticFiles) -> None:
    for _ in range(2):  # read, then remembered
        start, body = _sent(files, "/static/js/a.1234.js")
        headers = dict(start["headers"])

        assert start["status"] == 200
        assert headers[b"content-type"] == b"text/javascript"
        assert headers[b"content-length"] == b"5"
        assert headers[b"cache-control"] == b"public, immutable, max-age=31536000"
        assert body["body"] == b"one()"


@pytest.mark.parametrize(
    ("path", "method"),
    [
        ("/", "GET"),
        ("/static", "GET"),
        ("/static/js", "GET"),
        ("/static/js/b.js", "GET"),
        ("/secret.js", "GET"),
        ("/static/../secret.js", "GET"),
        ("/static/js/a.1234.js", "POST"),
    ],
)
def test_everything_else_is_the_apps(files: StaticFiles, path: str, method: str) -> None:
    assert _sent(files, path, method) == [{"type": "the app's"}]
