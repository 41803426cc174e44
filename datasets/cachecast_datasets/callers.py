"""Who called whom: host and platform, session, and the account by its key, which is dropped."""

import hashlib
from collections.abc import Mapping
from typing import Any

from cachecast_datasets.prompts.parts import at_path
from cachecast_datasets.replies.reply import word

_HOSTS = {
    "api.anthropic.com": ("anthropic", None),
    "api.openai.com": ("openai", None),
    "chatgpt.com": ("openai", None),
    "api.deepseek.com": ("deepseek", None),
    "openrouter.ai": (None, "openrouter"),
}
_HOST_ENDS = {
    ".openai.azure.com": "azure", ".services.ai.azure.com": "azure", ".amazonaws.com": "bedrock",
    "aiplatform.googleapis.com": "vertex",
}  # fmt: skip


# A compaction is a call of its own, whose usage stands in no other response (BR-31).
_APIS = {
    "/messages": "anthropic", "/chat/completions": "chat", "/responses": "responses",
    "/responses/compact": "responses",
}  # fmt: skip


def api_of_path(path: str | None) -> str | None:
    """`anthropic`, `chat` or `responses`; None for a path that calls no language model."""
    plain = (path or "").split("?")[0].rstrip("/")
    return next((api for end, api in _APIS.items() if plain.endswith(end)), None)


def split_url(url: str) -> tuple[str | None, str | None]:
    """(host, path) of a URL; a bare path has no host."""
    rest = url.split("://", 1)[1] if "://" in url else url
    if not rest:
        return None, None
    host, _, path = rest.partition("/")
    return (host or None, f"/{path.split('?')[0]}") if "://" in url else (None, rest)


def where(host: str | None) -> tuple[str | None, str | None]:
    """(provider, platform) of a host."""
    if host is None:
        return None, None
    name = host.split(":")[0].lower()
    if name in _HOSTS:
        return _HOSTS[name]
    return None, next((p for end, p in _HOST_ENDS.items() if name.endswith(end)), name)


def session_of(body: Mapping[str, Any]) -> str | None:
    """A session that the request names: Claude Code writes it into `metadata.user_id`."""
    user = at_path(body, "metadata.user_id")
    if isinstance(user, str) and "_session_" in user:
        return user.rsplit("_session_", 1)[1] or None
    for path in ("metadata.session_id", "metadata.conversation_id"):
        found = word(at_path(body, path))
        if found is not None:
            return found
    return None


def account_of(headers: Mapping[str, str], reply_headers: Mapping[str, str]) -> str | None:
    """A name for the account from the key of a call, never the key; header names in lower case.

    A key is as fine as the isolation that it stands for. Sign-in tokens change every few hours:
    there the organization, if the response names it.
    """
    bearer = headers.get("authorization", "").removeprefix("Bearer ").strip()
    key = headers.get("x-api-key") or headers.get("api-key")
    if key is None and bearer.startswith("sk-") and not bearer.startswith("sk-ant-oat"):
        key = bearer
    named = key or reply_headers.get("anthropic-organization-id")
    named = named or reply_headers.get("openai-organization") or bearer
    if not named:
        return None
    digest = hashlib.blake2b(named.encode(errors="surrogatepass"), digest_size=8)
    return f"key:{digest.hexdigest()}"
