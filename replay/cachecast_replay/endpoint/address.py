"""Where a server listens, and the key that opens it. A key is never shown or stored."""

import ipaddress
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from cachecast_datasets.errors import BadInput

HIDDEN = "[api key]"
_MOST_SHOWN = 200


@dataclass(frozen=True, slots=True)
class Address:
    """`base` is the API's root without a slash at its end, as http://127.0.0.1:8000/v1."""

    base: str
    local: bool
    key: str | None = field(default=None, repr=False)

    @property
    def server(self) -> str:
        """The root of the server itself, where paths such as /reset_prefix_cache live."""
        parts = urlsplit(self.base)
        return f"{parts.scheme}://{parts.netloc}"

    def safe(self, text: str) -> str:
        """What someone else wrote, on one line, cut to 200 characters, without the key and what
        would steer a terminal."""
        words = " ".join(text.split())
        clean = "".join(one if one.isprintable() else "\ufffd" for one in words)
        if self.key is not None:
            clean = clean.replace(self.key, HIDDEN)
        return clean if len(clean) <= _MOST_SHOWN else clean[: _MOST_SHOWN - 1] + "…"


def address_of(url: str, *, allow_remote: bool, key: str | None = None) -> Address:
    """BadInput for what is no plain http(s) URL, or leads off this machine without leave.

    The URL is stored in the run, so one with a user name, a password or a query is refused.
    """
    if any(mark in url for mark in "@?#"):  # before all else: no other message may show a secret
        raise BadInput(
            "--endpoint: has a user, a query or a fragment, expected http://HOST:PORT/v1; "
            "a key comes with --api-key-env"
        )
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError as problem:
        raise BadInput(f"--endpoint: is no URL ({problem}), expected http://HOST:PORT/v1") from None
    if parts.scheme not in ("http", "https") or not host:
        raise BadInput(f"--endpoint {url}: expected http://HOST:PORT/v1")
    local = is_local(host)
    if not local and not allow_remote:
        raise BadInput(
            f"--endpoint {url}: {host} is not this machine; --allow-remote sends it the log's "
            "prompts"
        )
    if key is not None and (not key.isascii() or not key.isprintable() or " " in key or not key):
        raise BadInput("the API key has characters that no key has, expected printable ASCII")
    return Address(url.rstrip("/"), local, key)


def is_local(host: str) -> bool:
    """Whether a host's name or number is this machine, by itself: no name is looked up."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
