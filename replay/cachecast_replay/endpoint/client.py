"""HTTP to one server: the only place that talks to a socket."""

from collections.abc import Callable
from datetime import UTC, datetime
from types import TracebackType
from typing import Self

import httpx

from cachecast_datasets.errors import BadInput
from cachecast_replay.endpoint.address import Address
from cachecast_replay.endpoint.events import EventDecoder, TooLong
from cachecast_replay.endpoint.reading import Reading, StreamProblem, body_error
from cachecast_replay.endpoint.retrying import (
    LONGEST_WAIT_S,
    RETRIED_STATUS,
    RequestFailed,
    retry_after_s,
)

CONNECT_TIMEOUT_S = 10.0
_MOST_ERROR_BYTES = 1 << 16
_MOST_BYTES = 16 << 20  # of an answer that is no stream


class Client:
    """Connections to one server; use it as an async context.

    `silence_s`: how long a server may say nothing. Every failure is a RequestFailed whose message
    holds no key.
    """

    def __init__(self, address: Address, silence_s: float) -> None:
        self._address = address
        self._silence_s = silence_s
        headers = {"accept": "text/event-stream, application/json"}
        if address.key is not None:
            headers["authorization"] = f"Bearer {address.key}"
        try:
            self._http = httpx.AsyncClient(
                headers=headers,
                timeout=httpx.Timeout(
                    silence_s, connect=min(CONNECT_TIMEOUT_S, silence_s), pool=None
                ),
                # the runner holds back requests, not a pool that nobody sees
                limits=httpx.Limits(max_connections=None, max_keepalive_connections=None),
                # a proxy must not come between this machine and itself
                trust_env=not address.local,
            )
        except (ValueError, ImportError, OSError, httpx.InvalidURL):
            # whose words may show the proxy's password
            raise BadInput(
                "the proxy or the certificates that the environment names cannot be used, expected "
                "http://HOST:PORT in HTTP_PROXY, HTTPS_PROXY and ALL_PROXY and a file in "
                "SSL_CERT_FILE, or none of them"
            ) from None

    async def __aenter__(self) -> Self:
        await self._http.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        await self._http.__aexit__(kind, problem, trace)

    async def stream(
        self, path: str, body: bytes, reading: Reading, now_ns: Callable[[], int]
    ) -> None:
        """Ask once and read the answer into `reading`, to its end."""
        url = self._address.base + path
        try:
            async with self._http.stream(
                "POST", url, content=body, headers={"content-type": "application/json"}
            ) as response:
                if response.status_code != httpx.codes.OK:
                    raise await self._refusal(response)
                await self._read(response, reading, now_ns)
        except (StreamProblem, TooLong) as problem:
            raise RequestFailed(self._address.safe(str(problem)), again=True) from None
        except (httpx.HTTPError, httpx.InvalidURL) as problem:
            raise self._broken(problem) from None

    async def get(self, url: str) -> bytes:
        """The body of a GET."""
        return await self._plain("GET", url)

    async def post(self, url: str) -> bytes:
        """The body of a POST without one."""
        return await self._plain("POST", url)

    async def _plain(self, method: str, url: str) -> bytes:
        try:
            async with self._http.stream(method, url) as response:
                if not response.is_success:
                    raise await self._refusal(response)
                body = b""
                async for piece in response.aiter_bytes():
                    body += piece
                    if len(body) > _MOST_BYTES:
                        raise RequestFailed(f"answered with more than {_MOST_BYTES:,} bytes")
                return body
        except (httpx.HTTPError, httpx.InvalidURL) as problem:
            raise self._broken(problem) from None

    async def _read(
        self, response: httpx.Response, reading: Reading, now_ns: Callable[[], int]
    ) -> None:
        kind = response.headers.get("content-type", "")
        if "json" in kind or "html" in kind:
            raise StreamProblem(f"answered with {kind} instead of a stream")
        events = EventDecoder()
        heard_ns = now_ns()
        async for piece in response.aiter_bytes():
            arrived_ns = now_ns()
            for data in events.feed(piece):
                reading.take(data, arrived_ns)
                heard_ns = arrived_ns
            if arrived_ns - heard_ns > self._silence_s * 1e9:  # comments keep a connection alive
                raise StreamProblem(f"sent nothing of the answer for {self._silence_s:g} s")
        for data in events.end():
            reading.take(data, now_ns())
        reading.close()
        if reading.finish is not None:  # it is kept in the run, whatever the server wrote there
            reading.finish = self._address.safe(reading.finish)

    async def _refusal(self, response: httpx.Response) -> RequestFailed:
        """What a status other than success says."""
        status = response.status_code
        body = b""
        async for piece in response.aiter_bytes():
            body += piece
            if len(body) > _MOST_ERROR_BYTES:
                break
        words = self._address.safe(body_error(body))
        if status in (401, 403):
            words = "the key is missing or refused"  # what a server says of a key may show it
        elif response.is_redirect:
            words = "a redirect, which is not followed; name the address that it leads to"
        asked = retry_after_s(response.headers.get("retry-after"), datetime.now(UTC))
        if asked is not None and asked > LONGEST_WAIT_S:
            words += f"{' (' if words else ''}asks to wait {asked:,.0f} s{')' if words else ''}"
        return RequestFailed(
            f"answered {status}" + (f": {words}" if words else ""), status=status,
            again=status in RETRIED_STATUS, after_s=asked,
        )  # fmt: skip

    def _broken(self, problem: Exception) -> RequestFailed:
        words = self._address.safe(str(problem)) or type(problem).__name__
        if isinstance(problem, httpx.ReadTimeout):
            return RequestFailed(f"said nothing for {self._silence_s:g} s", again=True)
        if isinstance(problem, httpx.ConnectError | httpx.ConnectTimeout):
            return RequestFailed(
                f"cannot be reached ({words}): is it running, and is the address right?", again=True
            )
        return RequestFailed(f"broke off: {words}", again=isinstance(problem, httpx.TransportError))
