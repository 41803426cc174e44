"""Writing entries in two steps: announced at the look-up, readable when the response starts."""

from cachecast_pricing.rules.memory import NEVER, Entry, Memory, Scope
from cachecast_pricing.rules.prefix_tree import Path
from cachecast_pricing.rules.prompt import Prompt
from cachecast_pricing.rules.reasons import Explanation, Segment
from cachecast_pricing.usage import Usage


class Plan:
    """What a request will do when its response starts.

    `writes` = (key, tokens, ttl_us), `entries` their entries once announced; `output` likewise, for
    the entry at the end of the output, readable once the response has ended at `end_us`. `path` is
    the prompt's run in the prefix tree, which then lives until `path_expiry_us`. `busy`: the
    request stands beyond 15 in its minute. `unstored_tokens` behind the hit of a usual turn were in
    an earlier prompt, which stored nothing there.
    """

    __slots__ = (
        "busy", "end_us", "entries", "hit", "output", "path", "path_expiry_us", "scope",
        "start_us", "unstored_tokens", "usage", "writes",
    )  # fmt: skip

    def __init__(
        self,
        scope: Scope,
        start_us: int,
        writes: list[tuple[int, int, int]],
        hit: Entry | None,
        usage: Usage,
    ) -> None:
        self.scope = scope
        self.start_us = start_us
        self.writes = writes
        self.entries: list[Entry] = []
        self.hit = hit
        self.usage = usage
        self.output: tuple[int, int, int] | None = None
        self.end_us = start_us
        self.path: Path | None = None
        self.path_expiry_us = start_us
        self.busy = False
        self.unstored_tokens = 0


class EntryStore:
    """The write side of every family that stores entries.

    `delay_us` passes between the start of the response and the moment an entry can be read;
    `grace_us` is life beyond the promised minimum; with `upgrade` a longer lifetime lifts an entry
    that is there already.
    """

    def __init__(
        self, memory: Memory, grace_us: int, upgrade: bool = False, delay_us: int = 0
    ) -> None:
        self.memory = memory
        self.grace_us = grace_us
        self.upgrade = upgrade
        self.delay_us = delay_us

    def announce(self, plan: Plan) -> None:
        """Followers that come before the response starts see a writer at work.

        An announced entry is never cleaned up, so the plan can keep it.
        """
        if plan.path is not None:
            plan.path.announce()
        known = plan.scope.entries
        for key, tokens, ttl_us in plan.writes:
            entry = known.get(key)
            if entry is None:
                entry = known[key] = Entry(tokens, ttl_us)
            entry.pending += 1
            plan.entries.append(entry)

    def started(self, plan: object, now_us: int) -> Usage:
        """A request's response starts: everything planned is written. Its tokens by class."""
        assert isinstance(plan, Plan)
        if plan.path is not None:
            plan.path.settle(now_us + self.delay_us, plan.path_expiry_us)
        self.write(plan, now_us)
        return plan.usage

    def abandoned(self, plan: object, now_us: int) -> Usage:
        """It ended before its first token: nothing is written, followers learn of it."""
        assert isinstance(plan, Plan)
        if plan.path is not None:
            plan.path.settle(now_us, None)
        self.lose(plan)
        return plan.usage

    def write(self, plan: Plan, now_us: int) -> None:
        """Entries become readable; their life counts from the request's start.

        An entry that is readable already is only refreshed, at its own lifetime.
        """
        hit, start_us = plan.hit, plan.start_us
        if hit is not None:
            expiry_us = start_us + hit.ttl_us + self.grace_us
            if expiry_us > hit.expiry_us:
                hit.expiry_us = expiry_us
        for entry, write in zip(plan.entries, plan.writes, strict=True):
            entry.pending -= 1
            self._make(plan, entry, write, now_us)
        if plan.output is not None:
            key, tokens, ttl_us = plan.output
            entry = plan.scope.entries.setdefault(key, Entry(tokens, ttl_us))
            self._make(plan, entry, plan.output, max(now_us, plan.end_us))

    def _make(self, plan: Plan, entry: Entry, write: tuple[int, int, int], now_us: int) -> None:
        key, tokens, ttl_us = write
        expiry_us = plan.start_us + ttl_us + self.grace_us
        if entry.expiry_us < now_us:  # not there, or not there any more
            entry.tokens, entry.ttl_us = tokens, ttl_us
            entry.ready_us = now_us + self.delay_us
            entry.lost_until_us = NEVER
            self._note_writer(plan.scope, key, expiry_us)
        elif ttl_us > entry.ttl_us and (self.upgrade or tokens > plan.usage.cache_read):
            entry.ttl_us = ttl_us  # a longer life was asked for, or paid for by a second writer
        else:
            expiry_us = plan.start_us + entry.ttl_us + self.grace_us
        if expiry_us > entry.expiry_us:
            entry.expiry_us = expiry_us

    def _note_writer(self, scope: Scope, key: int, expiry_us: int) -> None:
        """Of several scopes with this prefix, remember the one in which it lives longest."""
        known = self.memory.written_in.get(key)
        if known is not None and known is not scope:
            other = known.entries.get(key)
            if other is not None and other.expiry_us > expiry_us:
                return
        self.memory.written_in[key] = scope

    def lose(self, plan: Plan) -> None:
        """The writer ended before its first token: for one lifetime its entries are missed."""
        for entry, (_, _, ttl_us) in zip(plan.entries, plan.writes, strict=True):
            entry.pending -= 1
            entry.lost_until_us = plan.start_us + ttl_us + self.grace_us


def refusal(rejected: str) -> Explanation:
    """A request that the provider answers with an error: nothing read, written or billed."""
    too_many = rejected.startswith("too_many_markers")
    reason = "too_many_markers" if too_many else "rejected"
    return Explanation((Segment(0, 0, reason),), reason, evidence={"rejected": rejected})


def not_requested(prompt: Prompt) -> Explanation:
    """Caching was not asked for: the whole prompt is `not_requested`."""
    return Explanation((Segment(0, prompt.total, "not_requested"),), "not_requested")


def below_minimum(prompt: Prompt, limit: int, minimum: int) -> Explanation:
    """The prefix asked for is below the provider's minimum; what stands behind it is tail."""
    segments = [Segment(0, limit, "below_minimum")]
    if prompt.total > limit:
        tail = "uncached_tail" if prompt.blocks is not None else "block_rounding"
        segments.append(Segment(limit, prompt.total, tail))
    evidence = {"asked_tokens": limit, "minimum_tokens": minimum}
    return Explanation(tuple(segments), "below_minimum", evidence=evidence)
