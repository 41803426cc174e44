"""What a request's money counts toward: its session, else the request itself."""

from cachecast_datasets.request import Request

SessionKey = tuple[str | None, ...]


def session_key(request: Request) -> SessionKey:
    """The session of a request, in its account or source scope; its own id where it has none."""
    owner = request.account if request.account is not None else request.hash_scope
    return session_of(owner, request.session_id, request.request_id)


def session_of(owner: str | None, session_id: str | None, request_id: str) -> SessionKey:
    """The same from the fields."""
    return (owner, None, request_id) if session_id is None else (owner, session_id)
