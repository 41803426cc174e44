"""Interval boundaries with rounding: OpenAI before GPT-5.6.

GPT-5.5 has a breakpoint every 2,048 tokens from the start of the hidden system text; older models
at unpublished intervals, for which the reported step of 128 stands in. What is reported is the last
matched breakpoint without hidden tokens, floored to 128; no write fee. Sources: OpenAI's guide,
2026-10-02; minimum and steps of older models: Azure's page, 2026-03-19.
"""

from cachecast_datasets.request import Request
from cachecast_pricing.rules.explain import Found, explain, held_index
from cachecast_pricing.rules.facts import Interval
from cachecast_pricing.rules.markers import OPENAI_MARKERS
from cachecast_pricing.rules.prefix_tree import Node, Path, live_length
from cachecast_pricing.rules.prompt import Prompt
from cachecast_pricing.rules.protocol import Match, Setup
from cachecast_pricing.rules.runs import Runs
from cachecast_pricing.rules.settings import SECOND_US
from cachecast_pricing.rules.store import EntryStore, Plan, below_minimum, not_requested, refusal
from cachecast_pricing.rules.trees import Trees
from cachecast_pricing.usage import Usage

REPORTED_STEP = 128


class IntervalBoundaries:
    """OpenAI's cache before GPT-5.6, for one scenario."""

    def __init__(self, setup: Setup) -> None:
        facts, settings = setup.facts, setup.settings
        assert facts.interval is not None
        self.facts: Interval = facts.interval
        self.step = facts.interval.steps[setup.model]
        self.extended = setup.model in facts.interval.extended.models
        self.minimum = setup.minimum
        self.settings = settings
        out = facts.interval.not_in_key
        self.key_settings = [s for s in facts.setting if s.name not in out]
        self.memory = setup.memory
        self.store = EntryStore(self.memory, settings.grace_us)
        self.trees = Trees()

    def life_us(self, request: Request) -> int:
        """Idle life of a stored prompt: the 24h class's usual 30 minutes, or 5 in memory."""
        asked = request.settings.get("prompt_cache_retention")
        extended = self.extended if asked is None else asked == "24h"
        life_s = self.facts.life_s.extended if extended else self.facts.life_s.in_memory
        return life_s * SECOND_US + self.settings.grace_us

    def look_up(self, request: Request, now_us: int) -> Match:
        """The last interval boundary that a live earlier prompt shares, as it is reported."""
        prompt = Prompt(request, self.key_settings, images=False)
        blocks = prompt.blocks or []
        if self.settings.mark in (None, "log") and any(b.marker in OPENAI_MARKERS for b in blocks):
            rejected = "prompt_cache_breakpoint on a model before GPT-5.6"
            return Match(0, refusal(rejected), None, rejected)
        scope = self.memory.scope(request)
        known = held_index(prompt, scope)
        runs = Runs(prompt, request)
        tree = self.trees.of(scope)
        shared, node = tree.locate(runs)
        live = runs.tokens_at(live_length(node, shared, now_us))
        read = self._reported(live)
        asked = self.settings.mark != "none"  # the provider itself has no way to opt out
        if not asked:
            explanation, read = not_requested(prompt), 0
        elif runs.limit < self.minimum:
            explanation, read = below_minimum(prompt, runs.limit, self.minimum), 0
        else:
            explanation = explain(
                self.memory, scope, prompt, read=read, limit=runs.limit, known=known,
                look_ups=range(len(prompt.keys)), now_us=now_us,
                found=self._found(read, live, runs.tokens_at(shared), node, now_us),
            )  # fmt: skip
        plan = Plan(
            scope, now_us, self._end_entry(prompt, request) if asked else [], None,
            Usage(fresh=prompt.total - read, cache_read=read, output=prompt.output),
        )  # fmt: skip
        if asked:
            plan.path = Path(tree, tree.insert(runs, shared, node))
            plan.path_expiry_us = now_us + self.life_us(request)
            self.store.announce(plan)
        self.memory.remember(scope, request, prompt.hashes, known, explanation.reason)
        self.trees.tidy(now_us, self.life_us(request))
        return Match(read, explanation, plan)

    def _found(
        self, read: int, live: int, shared: int, node: Node | None, now_us: int
    ) -> list[Found]:
        """What a run would have given were it alive already or still, and the rounding behind."""
        found: list[Found] = []
        possible = self._reported(shared)
        if shared > live and node is not None and possible > read:
            reason, evidence = _absence(node, now_us)
            found.append((possible, reason, evidence))
        short = not read and 0 < shared < self.minimum
        found.append((shared, "below_minimum" if short else "block_rounding", {}))
        return found

    def _reported(self, live: int) -> int:
        hidden = self.settings.hidden
        point = (live + hidden) // self.step * self.step - hidden
        reported = max(0, point) // REPORTED_STEP * REPORTED_STEP
        return reported if reported >= self.minimum else 0

    def _end_entry(self, prompt: Prompt, request: Request) -> list[tuple[int, int, int]]:
        """The whole prompt as an entry: only to see when another scope holds it."""
        if not prompt.keys:
            return []
        life = self.life_us(request) - self.settings.grace_us
        return [(prompt.keys[-1], prompt.tokens[-1], life)]

    def response_started(self, request: Request, match: Match, now_us: int) -> Usage:
        """The prompt is stored; every prompt that it extends lives on with it."""
        return self.store.started(match.plan, now_us)

    def abandoned(self, request: Request, match: Match, now_us: int) -> Usage:
        """Nothing is written; followers within its lifetime learn that a writer was lost."""
        return self.store.abandoned(match.plan, now_us)

    def notes(self) -> list[str]:
        """What the run has to say about itself."""
        life = self.facts.life_s
        return [
            f"breakpoints every {self.step:,} tokens after {self.settings.hidden} hidden ones, "
            f"entries live {life.extended} s idle (24h class) or {life.in_memory} s (in memory)"
        ]


def _absence(node: Node, now_us: int) -> tuple[str, dict[str, float]]:
    if node.pending or node.ready_us > now_us:
        return "concurrent_with_writer", {}
    if node.expiry_us >= 0:
        return "ttl_expired", {"expired_s_ago": (now_us - node.expiry_us) / SECOND_US}
    return "aborted_writer", {}
