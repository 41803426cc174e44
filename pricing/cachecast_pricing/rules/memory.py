"""What a provider's cache and its observer remember: entries by scope, and who held which prefix.

A scope is what isolates caches: account (or the source's hash scope), model, platform, region.
Entries are what the provider stores. `held` is only for explanations: the prefixes that earlier
requests of the scope contained, stored or not. Nothing is remembered for longer than
`HORIZON_US` after its last use, so memory follows the traffic and not the log's length.
"""

from collections import OrderedDict
from typing import NamedTuple

from cachecast_datasets.request import Request

HORIZON_US = 30 * 86_400 * 1_000_000  # 30 days
SWEEP_EVERY = 50_000  # requests between two clean-ups
# Whole requests kept to compare a divergence with: the latest, and the last of each session.
RECENT_REQUESTS = 1_024
RECENT_SESSIONS = 2_048

NEVER = -1


class Entry:
    """One stored prefix. Alive while `now <= expiry_us`; `NEVER` if no response started yet.

    `pending` counts writers whose response has not started; `lost_until_us` is when the life of an
    entry would have ended that an aborted writer never made.
    """

    __slots__ = ("expiry_us", "lost_until_us", "pending", "ready_us", "tokens", "ttl_us")

    def __init__(self, tokens: int, ttl_us: int) -> None:
        self.tokens = tokens
        self.ttl_us = ttl_us
        self.expiry_us = NEVER
        self.ready_us = 0
        self.pending = 0
        self.lost_until_us = NEVER

    def alive(self, now_us: int) -> bool:
        """Readable at `now_us`; a lifetime includes its last moment."""
        return self.ready_us <= now_us <= self.expiry_us

    def absence(self, now_us: int) -> str:
        """The reason why it cannot be read at `now_us`, given that it was or will be there."""
        if self.pending or self.ready_us > now_us:
            return "concurrent_with_writer"
        if self.lost_until_us >= now_us:
            return "aborted_writer"
        return "ttl_expired"


class Earlier(NamedTuple):
    """An earlier request, and why it did not read more."""

    request: Request
    reason: str | None


class Scope:
    """One isolated cache: its entries by key, and by hash the ordinal of a holder.

    Only the longest known prefix of a request gets its newest holder.
    """

    __slots__ = ("entries", "held", "key")

    def __init__(self, key: tuple[str | None, ...]) -> None:
        self.key = key
        self.entries: dict[int, Entry] = {}
        self.held: dict[int, int] = {}


def scope_key(request: Request) -> tuple[str | None, ...]:
    """What isolates this request's cache; the log's own model stays in the key (design §3)."""
    owner = request.account if request.account is not None else request.hash_scope
    return owner, request.model, request.platform, request.region


class Memory:
    """Every scope of one provider, and the requests that explanations compare with."""

    def __init__(self) -> None:
        self.scopes: dict[tuple[str | None, ...], Scope] = {}
        self.written_in: dict[int, Scope] = {}  # key -> the last scope that wrote it
        self.ordinal = 0
        self._recent: OrderedDict[int, Earlier] = OrderedDict()
        self._last: OrderedDict[tuple[object, ...], Earlier] = OrderedDict()
        self._ages: list[tuple[int, int]] = []  # (ordinal, when) at each sweep

    def scope(self, request: Request) -> Scope:
        """The scope of `request`, made on first use."""
        return self.scope_of(scope_key(request))

    def scope_of(self, key: tuple[str | None, ...]) -> Scope:
        """The scope of a `scope_key`, made on first use."""
        scope = self.scopes.get(key)
        if scope is None:
            scope = self.scopes[key] = Scope(key)
        return scope

    def remember(
        self, scope: Scope, request: Request, hashes: list[int], known: int, reason: str | None
    ) -> None:
        """`request` held every prefix in `hashes`, the first `known` of which are known already.

        `reason` is why it did not read more itself.
        """
        self.hold(scope, hashes, max(0, known - 1), len(hashes), request.arrival_us)
        if request.blocks is not None:  # token blocks leave nothing to compare with
            earlier = Earlier(request, reason)
            self._recent[self.ordinal] = earlier
            if len(self._recent) > RECENT_REQUESTS:
                self._recent.popitem(last=False)
            session = (scope.key, request.session_id, request.agent_id)
            self._last[session] = earlier
            self._last.move_to_end(session)
            if len(self._last) > RECENT_SESSIONS:
                self._last.popitem(last=False)

    def hold(self, scope: Scope, hashes: list[int], first: int, end: int, now_us: int) -> None:
        """One more request held the prefixes `first <= i < end` of `hashes`."""
        self.ordinal += 1
        held, ordinal = scope.held, self.ordinal
        for i in range(first, end):
            held[hashes[i]] = ordinal
        if ordinal % SWEEP_EVERY == 0:
            self._sweep(now_us)

    def last_of_session(self, scope: Scope, request: Request) -> Earlier | None:
        """The nearest earlier request of the same session and sub-agent in the scope."""
        return self._last.get((scope.key, request.session_id, request.agent_id))

    def holder(self, scope: Scope, hash_value: int) -> Earlier | None:
        """The last request that held the prefix, if it is still remembered whole."""
        ordinal = scope.held.get(hash_value)
        return None if ordinal is None else self._recent.get(ordinal)

    def _sweep(self, now_us: int) -> None:
        """Forget what nobody used within the horizon."""
        self._ages.append((self.ordinal, now_us))
        oldest = now_us - HORIZON_US
        forgotten = 0
        while len(self._ages) > 1 and self._ages[0][1] < oldest:
            forgotten = self._ages.pop(0)[0]
        for key, scope in list(self.scopes.items()):
            scope.entries = {
                k: e
                for k, e in scope.entries.items()
                if e.pending or max(e.expiry_us, e.lost_until_us) >= oldest
            }
            if forgotten:
                scope.held = {k: n for k, n in scope.held.items() if n > forgotten}
            if not scope.entries and not scope.held:
                del self.scopes[key]
        self.written_in = {k: scope for k, scope in self.written_in.items() if k in scope.entries}
        for session, earlier in list(self._last.items()):
            if earlier.request.arrival_us < oldest:
                del self._last[session]
