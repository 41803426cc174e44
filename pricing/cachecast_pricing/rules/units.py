"""Whole prefix units: DeepSeek.

A stored unit is read only if the prompt contains it in full, from its first token. Units stand at
the end of each input and output, and where a common prefix with an earlier prompt was seen; the
2024 rule of a 64-token unit and interval units are settings. Markers are accepted and ignored.
Source: api-docs.deepseek.com kv_cache guide, 2026-09.
"""

from cachecast_datasets.hashing import chain, content_hash
from cachecast_datasets.request import Request
from cachecast_pricing.rules.explain import Found, explain, held_index
from cachecast_pricing.rules.memory import Scope
from cachecast_pricing.rules.prefix_tree import Path, live_length
from cachecast_pricing.rules.prompt import Prompt
from cachecast_pricing.rules.protocol import Match, Setup
from cachecast_pricing.rules.runs import Runs
from cachecast_pricing.rules.settings import SECOND_US
from cachecast_pricing.rules.store import EntryStore, Plan
from cachecast_pricing.rules.trees import Trees
from cachecast_pricing.usage import Usage

_ASSISTANT = content_hash(b"assistant")  # how the request log chains an assistant's block


class WholePrefixUnits:
    """DeepSeek's cache for one scenario."""

    def __init__(self, setup: Setup) -> None:
        facts, settings = setup.facts, setup.settings
        assert facts.units is not None
        self.life_us = facts.units.life_s * SECOND_US
        self.settings = settings
        self.memory = setup.memory
        self.store = EntryStore(self.memory, settings.grace_us, delay_us=settings.build_delay_us)
        self.trees = Trees()
        self.token_blocks = False

    def look_up(self, request: Request, now_us: int) -> Match:
        """The longest stored unit that the prompt contains whole."""
        prompt = Prompt(request, (), images=False)
        scope = self.memory.scope(request)
        known = held_index(prompt, scope)
        runs = Runs(prompt, request)
        self.token_blocks = self.token_blocks or request.token_blocks is not None
        tree = self.trees.of(scope)
        shared, node = tree.locate(runs)
        live = live_length(node, shared, now_us)
        whole, absent = self._units(runs, scope, shared, now_us)
        live_tokens = runs.tokens_at(live)
        read = self._stepped(runs.tokens_at(whole), live_tokens)
        found = [] if absent is None else [absent]
        if live_tokens > read:
            stepped = self.settings.unit is not None
            found.append((live_tokens, "block_rounding" if stepped else "unit_incomplete", {}))
        explanation = explain(
            self.memory, scope, prompt, read=read, limit=runs.limit, known=known,
            look_ups=range(len(prompt.keys)), now_us=now_us, found=found,
        )  # fmt: skip
        plan = self._plan(request, prompt, runs, scope, (whole, live), now_us, read)
        plan.path = Path(tree, tree.insert(runs, shared, node))
        plan.path_expiry_us = now_us + self.life_us + self.settings.grace_us
        self.store.announce(plan)
        self.memory.remember(scope, request, prompt.hashes, known, explanation.reason)
        self.trees.tidy(now_us, self.life_us)
        return Match(read, explanation, plan)

    def _units(
        self, runs: Runs, scope: Scope, shared: int, now_us: int
    ) -> tuple[int, Found | None]:
        """Positions of the longest readable unit, and the longest one that is not readable.

        No unit reaches beyond what an earlier prompt or its output had: the scan starts there.
        """
        entries = scope.entries
        if self.settings.unit is not None:
            return 0, None
        absent: Found | None = None
        longest = min(runs.count, shared + 1)  # + 1: the end of an output, one block further
        for count, value in runs.backwards(longest):
            entry = entries.get(value)
            if entry is None:
                continue
            if entry.alive(now_us):
                return count, absent
            if absent is None:
                tokens, reason = runs.tokens_at(count), entry.absence(now_us)
                absent = (tokens, reason, {"entry_tokens": tokens})
        return 0, absent

    def _stepped(self, whole_tokens: int, live_tokens: int) -> int:
        """Interval units and the 2024 unit: whole steps of what a live prompt shares."""
        step = self.settings.unit or self.settings.interval
        return max(whole_tokens, live_tokens // step * step if step else 0)

    def _plan(
        self,
        request: Request,
        prompt: Prompt,
        runs: Runs,
        scope: Scope,
        found: tuple[int, int],
        now_us: int,
        read: int,
    ) -> Plan:
        whole, live = found
        life = self.life_us
        ends = [live] if live > whole else []
        if runs.count and runs.count not in ends:
            ends.append(runs.count)
        writes = [(runs.hash_at(n), runs.tokens_at(n), life) for n in ends]
        hit = scope.entries.get(runs.hash_at(whole)) if whole else None
        usage = Usage(fresh=prompt.total - read, cache_read=read, output=prompt.output)
        plan = Plan(scope, now_us, writes, hit, usage)
        whole_answer = request.answer_hash is not None and request.status != "aborted"
        if self.settings.output_units and whole_answer and runs.count:
            assert request.answer_hash is not None
            end = chain(chain(runs.hash_at(runs.count), _ASSISTANT), request.answer_hash)
            plan.output = (end, prompt.total + (request.output_tokens or 0), life)
            plan.end_us = now_us + round((request.end_s or 0.0) * SECOND_US)
        return plan

    def response_started(self, request: Request, match: Match, now_us: int) -> Usage:
        """Units are built within the build delay; they live on while they are used."""
        return self.store.started(match.plan, now_us)

    def abandoned(self, request: Request, match: Match, now_us: int) -> Usage:
        """Nothing is written; followers within its lifetime learn that a writer was lost."""
        return self.store.abandoned(match.plan, now_us)

    def notes(self) -> list[str]:
        """What the run has to say about itself."""
        hours = (self.life_us // SECOND_US) / 3600
        notes = [
            "markers are ignored: caching is automatic",
            f"no lifetime is promised: units live {hours:g} h after their last use, "
            f"readable {self.settings.build_delay_s:g} s after the response started",
        ]
        if self.token_blocks:
            notes.append(
                "the log knows only token blocks, so units at the end of outputs are left out: "
                "reads are a lower bound"
            )
        return notes
