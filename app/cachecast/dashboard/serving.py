"""The web server under Streamlit: on a socket of our own, since the one of Streamlit waits.

Streamlit binds a socket without naming TCP, for which asyncio leaves Nagle's algorithm on: the body
of each answer then waits up to 40 ms until the browser has acknowledged its head. The first page
asks for a hundred files.
"""

import contextlib
import socket
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from cachecast.dashboard.static_files import StaticFiles
from cachecast_datasets.errors import BadInput

_LARGEST_MESSAGE_BYTES = 200 * 2**20  # of a websocket, as Streamlit has it
_PATIENCE_S = 1  # for connections that are open at the end


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens there. BadInput if that cannot be had."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        made.bind((host, port))
    except OSError as problem:
        made.close()
        raise BadInput(
            f"--host {host} --port {port}: cannot be listened on ({problem.strerror}); "
            "name another with --port N"
        ) from None
    made.listen(100)
    return made


def serve(script: Path, words: list[str], at: socket.socket, started: Callable[[], None]) -> None:
    """Run Streamlit's `script` with those arguments until somebody interrupts it.

    `started` is called once, as soon as the server answers.
    """
    import streamlit
    import uvicorn
    from streamlit.starlette import App

    @contextlib.asynccontextmanager
    async def lifespan(app: App) -> AsyncIterator[None]:
        started()
        yield

    sys.argv = [str(script), *words]
    files = Path(streamlit.__file__).parent / "static"
    app = StaticFiles(App(script, lifespan=lifespan), files)
    config = uvicorn.Config(
        app, log_level="critical", access_log=False, lifespan="on",
        ws="websockets-sansio", ws_max_size=_LARGEST_MESSAGE_BYTES, ws_per_message_deflate=False,
        ws_ping_interval=30, ws_ping_timeout=30, timeout_graceful_shutdown=_PATIENCE_S,
    )  # fmt: skip
    with contextlib.suppress(KeyboardInterrupt), at:  # the way to end it
        uvicorn.Server(config).run(sockets=[at])
