"""OpenAI's routing: entries live on single machines, and busy keys can overflow to others.

Sources say that traffic above about 15 requests a minute and key can overflow, not when it does:
off by default, then such requests are only counted and named as candidates.
"""

from cachecast_datasets.hashing import content_hash
from cachecast_pricing.rules.memory import Scope
from cachecast_pricing.rules.prompt import Prompt

BUSY_REQUESTS_A_MINUTE = 15
MINUTE_US = 60_000_000


class Machines:
    """Counts requests a minute by routing key; `overflow=N` moves every N-th on to the next."""

    def __init__(self, overflow: int | None) -> None:
        self.overflow = overflow
        self.busy_requests = 0  # beyond 15 a minute and key
        self.most = 1
        self._counts: dict[tuple[object, ...], int] = {}
        self._minute = -1

    def place(self, prompt: Prompt, scope: Scope, now_us: int) -> tuple[int, bool]:
        """(machine, whether the request stands beyond 15 in its minute)."""
        cache_key = prompt.request.settings.get("prompt_cache_key")
        first = first_text(prompt.request.session_id, prompt.hashes, prompt.names)
        return self.count(scope, cache_key, first, now_us)

    def count(
        self, scope: Scope, cache_key: str | None, first: object, now_us: int
    ) -> tuple[int, bool]:
        """The same, from the routing key's parts: the caller's key and the prompt's first hash."""
        minute = now_us // MINUTE_US
        if minute != self._minute:
            self._minute = minute
            self._counts.clear()
        key = (scope.key, cache_key, first)
        count = self._counts[key] = self._counts.get(key, 0) + 1
        busy = count > BUSY_REQUESTS_A_MINUTE
        self.busy_requests += busy
        machine = 0 if self.overflow is None else (count - 1) // self.overflow
        self.most = max(self.most, machine + 1)
        return machine, busy


def first_text(session: str | None, hashes: list[int], names: list[str], at: int = 0) -> object:
    """What stands for the prompt's first tokens: its first block, else its tools and system text.

    A log of token blocks that knows neither has no boundary that stays: its session stands in.
    """
    if at < len(hashes) and names[at] not in ("turn", "shared", "end"):
        return hashes[at]
    return session


def machine_salt(machine: int) -> int:
    """Mixed into every key on that machine; the first machine has none."""
    return content_hash(b"machine %d" % machine) if machine else 0
