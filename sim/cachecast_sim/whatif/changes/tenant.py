"""Who shares a cache: `tenant=shared`, `tenant=session`, and `cache-key=session|account|none`."""

from collections.abc import Callable, Iterator
from dataclasses import replace

from cachecast_datasets.errors import BadInput
from cachecast_datasets.request import Request
from cachecast_pricing.catalog import Catalog
from cachecast_sim.whatif.change import Change, ChangedLog

_KEY = "prompt_cache_key"
EachRequest = Callable[[Request], Request]


class Sharing(Change):
    """Each request in another account, or with another routing key."""

    def __init__(self, text: str, change: EachRequest, says: str) -> None:
        super().__init__(text)
        self._change = change
        self._says = says

    def log(self, log: ChangedLog) -> ChangedLog:
        """The log with other isolation."""
        return replace(log, requests=self._changed(log))

    def _changed(self, log: ChangedLog) -> Iterator[Request]:
        for request in log.requests:
            yield self._change(request)

    def assumptions(self) -> list[str]:
        """What is shared now."""
        return [self._says]


def _owner(request: Request) -> str | None:
    return request.account if request.account is not None else request.hash_scope


def _own_session(request: Request) -> Request:
    return replace(request, account=f"{_owner(request)}/{request.session_id}")


def _with_key(request: Request, value: str | None) -> Request:
    settings = {name: text for name, text in request.settings.items() if name != _KEY}
    if value is not None:
        settings[_KEY] = value
    return replace(request, settings=settings)


_TENANTS: dict[str, tuple[EachRequest, str]] = {
    "shared": (
        lambda request: replace(request, account="shared"),
        "all accounts share one cache; equal prompts of a log that names its blocks by session "
        "still differ",
    ),
    "session": (_own_session, "each session has a cache of its own"),
}
_KEYS: dict[str, tuple[EachRequest, str]] = {
    "session": (
        lambda request: _with_key(request, request.session_id),
        f"{_KEY} is the session",
    ),
    "account": (lambda request: _with_key(request, _owner(request)), f"{_KEY} is the account"),
    "none": (lambda request: _with_key(request, None), f"no {_KEY}"),
}


def make(text: str, value: str, catalog: Catalog) -> Change:
    """Accounts by `tenant=`."""
    return _made(text, value, _TENANTS)


def make_key(text: str, value: str, catalog: Catalog) -> Change:
    """Routing keys by `cache-key=`."""
    return _made(text, value, _KEYS)


def _made(text: str, value: str, known: dict[str, tuple[EachRequest, str]]) -> Change:
    if value not in known:
        name = text.partition("=")[0]
        raise BadInput(f"--change {text}: expected {' or '.join(f'{name}={v}' for v in known)}")
    return Sharing(text, *known[value])
