"""A small OpenAI-compatible server on a real socket, which does what each test tells it to."""

import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Body = dict[str, Any]
# what happens to a request: it writes to the handler
Act = Callable[["Handler", Body], None]

MODEL = "tiny"


@dataclass
class FakeServer:
    """`act` answers requests; `seen` are those that came, with their paths, probes first."""

    act: Act
    models: list[str] = field(default_factory=lambda: [MODEL])
    seen: list[tuple[str, Body]] = field(default_factory=list)
    keys: set[str | None] = field(default_factory=set)
    posts: dict[str, list[Body]] = field(default_factory=dict)  # path -> answers still to give
    resets: int = 0
    busy: int = 0
    busiest: int = 0
    url: str = ""
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def asked(self) -> list[Body]:
        """The requests of the log by the length they ask for; no probes and warm-ups.

        Those that are sent at nearly the same moment come in any order.
        """
        return sorted((body for _, body in self.seen if limit(body) not in (2, 16)), key=limit)


class Handler(BaseHTTPRequestHandler):
    """One request. HTTP/1.0: the end of the connection ends the body."""

    server: "_Server"

    def do_GET(self) -> None:
        if self.path != "/v1/models":
            self.refuse(404, "no such path")
            return
        self.server.fake.keys.add(self.headers.get("authorization"))
        self.plain(200, {"data": [{"id": name} for name in self.server.fake.models]})

    def do_POST(self) -> None:
        fake = self.server.fake
        length = int(self.headers.get("content-length", 0))
        raw = self.rfile.read(length)
        if self.path in fake.posts:
            fake.resets += 1
            self.plain(200, fake.posts[self.path].pop(0))
            return
        body = json.loads(raw) if raw else {}
        with fake.lock:
            fake.seen.append((self.path, body))
            fake.busy += 1
            fake.busiest = max(fake.busiest, fake.busy)
        try:
            fake.act(self, body)
        finally:
            with fake.lock:
                fake.busy -= 1

    def plain(self, status: int, value: Any, **headers: str) -> None:
        """A JSON answer."""
        data = json.dumps(value).encode()
        self.send_response(status)
        for name, text in {"content-type": "application/json", **headers}.items():
            self.send_header(name.replace("_", "-"), text)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def refuse(self, status: int, message: str, **headers: str) -> None:
        """An error as OpenAI words it."""
        self.plain(status, {"error": {"message": message}}, **headers)

    def start(self) -> None:
        """The head of a stream."""
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()

    def send(self, data: Any) -> None:
        """One event."""
        text = data if isinstance(data, str) else json.dumps(data)
        self.wfile.write(f"data: {text}\n\n".encode())
        self.wfile.flush()

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    fake: FakeServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that has gone away is what some tests are about."""


@contextlib.contextmanager
def serving(act: Act) -> Iterator[FakeServer]:
    """The server on a free port of this machine, until the block ends."""
    fake = FakeServer(act)
    with _Server(("127.0.0.1", 0), Handler) as server:
        server.fake = fake
        fake.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield fake
        finally:
            server.shutdown()
            thread.join()


def prompt_size(body: Body) -> int:
    """Tokens, or words."""
    if "messages" in body:
        return len(body["messages"][0]["content"].split())
    prompt = body["prompt"]
    return len(prompt.split() if isinstance(prompt, str) else prompt)


def limit(body: Body) -> int:
    return int(body.get("max_tokens") or body.get("max_completion_tokens") or 0)


def usage(body: Body, cached: int | None, output: int | None = None) -> Body:
    """As vLLM counts: null details where cached tokens are not reported."""
    return {
        "prompt_tokens": prompt_size(body),
        "completion_tokens": limit(body) if output is None else output,
        "prompt_tokens_details": None if cached is None else {"cached_tokens": cached},
    }


def piece(body: Body, text: str, finish: str | None = None) -> Body:
    """A chunk of either API."""
    if "messages" in body:
        return {"choices": [{"delta": {"content": text}, "finish_reason": finish}]}
    return {"choices": [{"text": text, "finish_reason": finish}]}


def answer(handler: Handler, body: Body, cached: int | None = 0) -> None:
    """All that was asked for, in one piece a token."""
    handler.start()
    count = limit(body)
    for number in range(count):
        handler.send(piece(body, " a", "length" if number == count - 1 else None))
    if "stream_options" in body:
        handler.send({"choices": [], "usage": usage(body, cached)})
    handler.send("[DONE]")
