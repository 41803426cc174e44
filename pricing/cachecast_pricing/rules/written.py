"""Written boundaries, implicit and explicit: OpenAI GPT-5.6 and later.

A hit lands only where an entry was written before; the longest looked-up boundary wins; counts are
exact boundaries without hidden tokens. Source: OpenAI's guide, 2026-10-02. Not documented: when an
entry becomes readable (here: when its writer's response starts).
"""

from cachecast_datasets.request import Request
from cachecast_pricing.rules.breakpoints import Breakpoints, breakpoints
from cachecast_pricing.rules.explain import Found, explain, held_index
from cachecast_pricing.rules.machines import Machines, first_text, machine_salt
from cachecast_pricing.rules.memory import Scope
from cachecast_pricing.rules.next_turn import (
    ANY_POSITION,
    BoundaryLists,
    TokenBlocks,
    usual_hit,
    usual_match,
)  # fmt: skip
from cachecast_pricing.rules.prompt import Prompt
from cachecast_pricing.rules.protocol import Match, Setup
from cachecast_pricing.rules.reasons import Explanation, Segment
from cachecast_pricing.rules.settings import TTL_US
from cachecast_pricing.rules.store import EntryStore, Plan, below_minimum, not_requested, refusal
from cachecast_pricing.usage import Usage

_ENDINGS = ("turn", "system", "end")  # what is looked up on logs that know only token blocks


_IMPLICIT = "implicit caching: each request writes at its latest message ending"
_MARK_NOTES = {
    "log": f"{_IMPLICIT}, and at the log's own breakpoints (mark=log)",
    "auto": f"{_IMPLICIT} (mark=auto)",
    "last": f"{_IMPLICIT} (mark=last)",
    "system+last": f"{_IMPLICIT}, and after the initial system text (mark=system+last)",
    "none": "explicit mode without breakpoints: nothing is cached (mark=none)",
    "translate": f"{_IMPLICIT}, and at the log's markers as breakpoints (mark=translate)",
}


class WrittenBoundaries:
    """OpenAI's cache from GPT-5.6 on, for one scenario."""

    placed = False

    def __init__(self, setup: Setup) -> None:
        facts, settings = setup.facts, setup.settings
        self.model = setup.model
        self.minimum = setup.minimum
        half_days = facts.twelve_hours
        self.half_days = half_days is not None and setup.model in half_days.models
        self.policy = settings.mark or "log"
        self.settings = settings
        self.key_settings = facts.setting
        self.memory = setup.memory
        self.store = EntryStore(self.memory, settings.grace_us)
        self.machines = Machines(settings.overflow)
        plain = (settings.ttl, settings.overflow, settings.tail) == (None, None, 0)
        self.shortcut = plain and self.policy in ("log", "auto", "last")

    def look_up(self, request: Request, now_us: int) -> Match:
        """The longest looked-up boundary at which a live entry was written."""
        match = usual_match(self, request, now_us)
        if match is not None:
            return match
        prompt = Prompt(request, self.key_settings, images=False)
        points = breakpoints(prompt, self.policy, self.settings.ttl, self.settings.lookup)
        rejected = points.rejected
        if (
            rejected is None
            and not self.half_days
            and any(ttl == "12h" for _, ttl in points.writes)
        ):
            rejected = f"ttl 12h is not offered by {self.model}"
        if rejected is not None:
            return Match(0, refusal(rejected), None, rejected)
        memory = self.memory
        scope = memory.scope(request)
        known = held_index(prompt, scope)
        if not points.writes:
            memory.remember(scope, request, prompt.hashes, known, "not_requested")
            plan = Plan(scope, now_us, [], None, Usage(fresh=prompt.total, output=prompt.output))
            return Match(0, not_requested(prompt), plan)
        machine, busy = self.machines.place(prompt, scope, now_us)
        if machine:
            salt = machine_salt(machine)
            prompt.keys = [key ^ salt for key in prompt.keys]
        if self.settings.tail:
            prompt.tokens = self._without_tail(prompt)
        found = self._find(prompt, scope, points, now_us)
        match = self._match(prompt, scope, points, found, known, now_us)
        if busy:
            match.explanation = match.explanation._replace(candidates=("routed_elsewhere",))
        if machine:
            match.explanation = self._routed(match, prompt, scope, machine, now_us)
        memory.remember(scope, request, prompt.hashes, known, match.explanation.reason)
        return match

    def usual(
        self,
        scope: Scope,
        session: str | None,
        lists: BoundaryLists,
        first: int,
        end: int,
        total: int,
        now_us: int,
        blocks: TokenBlocks | None = None,
    ) -> Plan | None:
        """See UsualRules."""
        found = usual_hit(self.memory, scope, lists, first, end, self.minimum, ANY_POSITION, now_us)
        if found < 0 or lists.names[found] not in _ENDINGS:
            return None
        hashes, last = lists.hashes, end - 1
        limit, read = lists.tokens[last], lists.tokens[found]
        usage = Usage(total - limit, read, 0, limit - read)
        plan = Plan(
            scope, now_us, [(hashes[last], limit, TTL_US["30m"])],
            scope.entries[hashes[found]], usage,
        )  # fmt: skip
        plan.busy = self.machines.count(
            scope, None, first_text(session, hashes, lists.names, first), now_us
        )[1]
        self.store.announce(plan)
        self.memory.hold(scope, hashes, found, end, now_us)
        return plan

    def _without_tail(self, prompt: Prompt) -> list[int]:
        """The measured last tokens behind the final message are never cached."""
        most = max(0, prompt.total - self.settings.tail)
        return [min(tokens, most) for tokens in prompt.tokens]

    def _find(self, prompt: Prompt, scope: Scope, points: Breakpoints, now_us: int) -> int | None:
        for i in reversed(points.look_ups):
            entry = scope.entries.get(prompt.keys[i])
            if entry is not None and entry.alive(now_us):
                return i
        return None

    def _match(
        self,
        prompt: Prompt,
        scope: Scope,
        points: Breakpoints,
        found: int | None,
        known: int,
        now_us: int,
    ) -> Match:
        hit = None if found is None else scope.entries[prompt.keys[found]]
        read = 0 if hit is None else hit.tokens
        # what the entry leaves out of its boundary is the tail that is never cached
        tail: list[Found] = [] if found is None else [(prompt.tokens[found], "uncached_tail", {})]
        last = points.writes[-1][0]
        limit = max(prompt.tokens[last], read)
        writes = [
            (prompt.keys[i], prompt.tokens[i], TTL_US[ttl])
            for i, ttl in points.writes
            if prompt.tokens[i] >= self.minimum
        ]
        plan = Plan(scope, now_us, writes, hit, _split(prompt, writes, read))
        if writes or hit is not None:
            explanation = explain(
                self.memory, scope, prompt, read=read, limit=limit, known=known,
                look_ups=range(last + 1), now_us=now_us, found=tail,
                minimum=self.minimum,
            )  # fmt: skip
        else:
            explanation = below_minimum(prompt, limit, self.minimum)
        self.store.announce(plan)
        return Match(read, explanation, plan)

    def _routed(
        self, match: Match, prompt: Prompt, scope: Scope, machine: int, now_us: int
    ) -> Explanation:
        """What another machine had in store was missed because of the routing."""
        explanation = match.explanation
        salts = [machine_salt(machine) ^ machine_salt(m) for m in range(self.machines.most)]
        for i in range(len(prompt.keys) - 1, -1, -1):
            if prompt.tokens[i] <= match.hit_tokens:
                break
            elsewhere = [scope.entries.get(prompt.keys[i] ^ s) for s in salts if s]
            if any(e is not None and e.alive(now_us) for e in elsewhere):
                return _with_routed(explanation, match.hit_tokens, prompt.tokens[i], machine)
        return explanation

    def response_started(self, request: Request, match: Match, now_us: int) -> Usage:
        """Entries become readable; reads and writes renew their life from the request's start."""
        return self.store.started(match.plan, now_us)

    def abandoned(self, request: Request, match: Match, now_us: int) -> Usage:
        """Nothing is written; followers within its lifetime learn that a writer was lost."""
        return self.store.abandoned(match.plan, now_us)

    def notes(self) -> list[str]:
        """What the run has to say about itself."""
        notes = [_MARK_NOTES[self.policy]]
        busy = self.machines.busy_requests
        if not busy or self.settings.overflow is not None:
            return notes
        return [
            *notes,
            f"{busy:,} requests stood beyond 15 a minute and key, where traffic can overflow to "
            "other machines; no overflow was modelled (overflow=off)",
        ]


def _split(prompt: Prompt, writes: list[tuple[int, int, int]], read: int) -> Usage:
    """Each input token once: read, written for 12h, written for 30m, or fresh."""
    half_day, last = read, read
    for _, tokens, ttl_us in writes:
        last = max(last, tokens)
        if ttl_us == TTL_US["12h"]:
            half_day = max(half_day, tokens)
    return Usage(
        fresh=prompt.total - last,
        cache_read=read,
        cache_write_30m=last - half_day,
        cache_write_12h=half_day - read,
        output=prompt.output,
    )


def _with_routed(explanation: Explanation, start: int, end: int, machine: int) -> Explanation:
    kept = [
        Segment(max(s.start, end), s.end, s.reason) for s in explanation.segments if s.end > end
    ]
    segments = (Segment(start, end, "routed_elsewhere"), *kept)
    evidence = {**explanation.evidence, "machine": machine}
    return Explanation(segments, "routed_elsewhere", explanation.candidates, evidence)
