"""Marked boundaries with look-back: one entry per marker, found again from later markers.

Rules and vectors: Anthropic's prompt caching page, 2026-08-22 and the newer edition of 2026-09
(tokens up to the highest hit are read; up to the highest 1h marker behind it written for an hour;
up to the last marker written for five minutes; the rest is fresh).
"""

from collections.abc import Sequence

from cachecast_datasets.request import Request
from cachecast_pricing.rules.explain import explain, held_index
from cachecast_pricing.rules.markers import MARK_NOTES, Marks, anthropic_marks
from cachecast_pricing.rules.memory import Scope
from cachecast_pricing.rules.next_turn import BoundaryLists, TokenBlocks, usual_hit, usual_match
from cachecast_pricing.rules.places import place_marks, places_of, steps_of
from cachecast_pricing.rules.prompt import Prompt
from cachecast_pricing.rules.protocol import Match, Setup
from cachecast_pricing.rules.settings import TTL_US
from cachecast_pricing.rules.store import EntryStore, Plan, below_minimum, not_requested, refusal
from cachecast_pricing.rules.usual_places import Row, usual_at_places
from cachecast_pricing.usage import Usage


class MarkedBoundaries:
    """Anthropic's cache for one scenario. `carries_markers`: the log's source can show markers."""

    def __init__(self, setup: Setup) -> None:
        facts, settings = setup.facts, setup.settings
        self.model = setup.model
        self.minimum = setup.minimum
        self.listed = setup.model in facts.minimum.models
        self.lookback_off = False
        old = facts.strips_thinking
        self.strips_thinking = old is not None and setup.model in old.models
        self.carries_markers = setup.carries_markers
        self.policy = settings.mark or "auto"
        self.settings = settings
        self.places = places_of(self.policy)
        self.grid = steps_of(self.policy)
        self.shortcut = self.policy in ("auto", "last", "system+last")
        self.placed = bool(self.places)
        self.key_settings = [
            s for s in facts.setting if settings.tool_choice or s.name != "tool_choice"
        ]
        self.memory = setup.memory
        self.store = EntryStore(self.memory, settings.grace_us, settings.upgrade)

    def look_up(self, request: Request, now_us: int) -> Match:
        """Walk back from each marker, the last first; 20 positions each, its own included."""
        match = usual_match(self, request, now_us)
        if match is not None:
            return match
        prompt = self.prompt_of(request, self.grid)
        marks = self._marks(prompt)
        if marks.rejected is not None:
            return Match(0, refusal(marks.rejected), None, marks.rejected)
        memory = self.memory
        scope = memory.scope(request)
        known = held_index(prompt, scope)
        usable = [(i, ttl) for i, ttl in marks.at if prompt.tokens[i] >= self.minimum]
        read, limit, hit = 0, 0, None
        if not marks.at:
            explanation = not_requested(prompt)
        elif not usable:
            limit = prompt.tokens[marks.at[-1][0]]
            explanation = below_minimum(prompt, limit, self.minimum)
        else:
            found = self._find(prompt, scope, marks.at, now_us)
            if found is not None:
                read, hit = prompt.tokens[found], scope.entries[prompt.keys[found]]
            last = usable[-1][0]
            limit = prompt.tokens[last]
            explanation = explain(
                memory, scope, prompt, read=read, limit=limit, known=known,
                look_ups=range(last + 1), now_us=now_us, minimum=self.minimum,
            )  # fmt: skip
        writes = [(prompt.keys[i], prompt.tokens[i], TTL_US[ttl]) for i, ttl in usable]
        plan = Plan(scope, now_us, writes, hit, _split(prompt, usable, read))
        self.store.announce(plan)
        memory.remember(scope, request, prompt.hashes, known, explanation.reason)
        return Match(read, explanation, plan)

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
        if blocks is not None:
            return usual_at_places(self, scope, Row(lists, first, end, blocks), total, now_us)
        settings = self.settings
        found = usual_hit(
            self.memory, scope, lists, first, end, self.minimum, settings.lookback, now_us
        )
        if found < 0:
            return None
        tokens, hashes, names, last = lists.tokens, lists.hashes, lists.names, end - 1
        ttl = settings.ttl or "5m"
        ttl_us, limit, read = TTL_US[ttl], tokens[last], tokens[found]
        writes = [(hashes[last], limit, ttl_us)]
        if self.policy != "last":
            system = first if names[first] == "system" else first + 1
            if names[system] != "system":
                return None
            if tokens[system] >= self.minimum and system < last:
                writes.insert(0, (hashes[system], tokens[system], ttl_us))
        short, hour = (0, limit - read) if ttl == "1h" else (limit - read, 0)
        usage = Usage(total - limit, read, short, 0, hour)
        plan = Plan(scope, now_us, writes, scope.entries[hashes[found]], usage)
        self.store.announce(plan)
        self.memory.hold(scope, hashes, found, end, now_us)
        return plan

    def prompt_of(self, request: Request, grid: Sequence[int] = ()) -> Prompt:
        """The request's positions with the keys that this model has for them."""
        return Prompt(request, self.key_settings, True, self.strips_thinking, grid)

    def _marks(self, prompt: Prompt) -> Marks:
        asked = place_marks(prompt, self.places, self.settings.ttl) if self.places else None
        return anthropic_marks(prompt, self._policy(prompt), self.settings.ttl, asked)

    def _policy(self, prompt: Prompt) -> str:
        """The scenario's own, else the log's markers where the log could have shown any."""
        if self.settings.mark is None and self.carries_markers and prompt.blocks is not None:
            return "log"
        return self.policy

    def _find(
        self, prompt: Prompt, scope: Scope, marks: Sequence[tuple[int, str]], now_us: int
    ) -> int | None:
        """Index of the entry that is read, or None."""
        entries, keys = scope.entries, prompt.keys
        ordinals = self.ordinals(prompt)
        for mark, _ in reversed(marks):
            for i in range(mark, -1, -1):
                if ordinals is not None and ordinals[mark] - ordinals[i] >= self.settings.lookback:
                    break
                entry = entries.get(keys[i])
                if entry is not None and entry.ready_us <= now_us <= entry.expiry_us:
                    return i
        return None

    def ordinals(self, prompt: Prompt) -> list[int] | None:
        """Look-back positions by index; None if the log does not tell them.

        A run of tool_use or of tool_result blocks counts as one (A2).
        """
        if prompt.blocks is None:
            if None in prompt.positions:
                self.lookback_off = True
                return None
            return prompt.positions  # type: ignore[return-value]
        if not self.settings.group_tools:
            return list(range(1, len(prompt.blocks) + 1))
        ordinals, count, previous = [], 0, None
        for block in prompt.blocks:
            if block.kind != previous or block.kind not in ("tool_use", "tool_result"):
                count += 1
            previous = block.kind
            ordinals.append(count)
        return ordinals

    def response_started(self, request: Request, match: Match, now_us: int) -> Usage:
        """Entries become readable now; their life counts from the request's start."""
        return self.store.started(match.plan, now_us)

    def abandoned(self, request: Request, match: Match, now_us: int) -> Usage:
        """Nothing is written; followers within its lifetime learn that a writer was lost."""
        return self.store.abandoned(match.plan, now_us)

    def _mark_note(self) -> str:
        if self.places:
            return f"markers at {', '.join(f'{p.name} ({p.ttl})' for p in self.places)}"
        return MARK_NOTES["log" if self._by_log() else self.policy]

    def _by_log(self) -> bool:
        return self.settings.mark is None and self.carries_markers

    def notes(self) -> list[str]:
        """What the run has to say about itself."""
        notes = [self._mark_note()]
        if not self.listed:
            notes.append(f"{self.model}: no source states a minimum, {self.minimum:,} assumed")
        if self.lookback_off:
            notes.append("look-back is off: the log does not tell how many content blocks it has")
        return notes


def _split(prompt: Prompt, usable: Sequence[tuple[int, str]], read: int) -> Usage:
    """Read, 1h write, 5m write and fresh, by the page's A, B and C."""
    hour = last = read
    for i, ttl in usable:
        tokens = prompt.tokens[i]
        if tokens > last:
            last = tokens
        if ttl == "1h" and tokens > hour:
            hour = tokens
    return Usage(prompt.total - last, read, last - hour, 0, hour - read, 0, 0, prompt.output)
