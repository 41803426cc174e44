"""Which rules each request of a scenario falls under; one memory per provider."""

from cachecast_datasets.request import Request
from cachecast_pricing.model_ids import ModelRef
from cachecast_pricing.rules.families import family_of, has_rules, rules_for
from cachecast_pricing.rules.memory import Memory
from cachecast_pricing.rules.protocol import CacheRules, Match
from cachecast_pricing.rules.reasons import Explanation, Segment
from cachecast_pricing.rules.settings import RuleSettings
from cachecast_pricing.usage import Usage
from cachecast_sim.pricer import Pricer


class NoRules:
    """A model whose cache nobody has modelled here: nothing is read, and nobody knows why."""

    def look_up(self, request: Request, now_us: int) -> Match:
        """Nothing."""
        tokens = request.prompt_tokens or 0
        return Match(0, tokens, Explanation((Segment(0, tokens, "unknown"),), "unknown"))

    def response_started(self, request: Request, match: Match, now_us: int) -> Usage:
        """The whole prompt as fresh."""
        return Usage(fresh=request.prompt_tokens or 0, output=request.output_tokens or 0)

    def abandoned(self, request: Request, match: Match, now_us: int) -> Usage:
        """The whole prompt as fresh."""
        return self.response_started(request, match, now_us)

    def notes(self) -> list[str]:
        """Nothing beyond what the rulebook says."""
        return []


class Rulebook:
    """Rules by model, made on first use; models of one provider share what it remembers."""

    def __init__(self, pricer: Pricer, settings: RuleSettings, carries_markers: bool) -> None:
        self._pricer = pricer
        self._settings = settings
        self._carries_markers = carries_markers
        self._memories: dict[str, Memory] = {}
        self._rules: dict[ModelRef | None, CacheRules] = {}
        self._without: dict[str, None] = {}
        self._fixed: CacheRules | None = None
        model = pricer.scenario.model
        if model is not None:
            family_of(model.provider, model.model)  # a named model without rules is an error
            self._fixed = self._made(model)

    def rules_of(self, request: Request) -> CacheRules:
        """The rules for this request."""
        if self._fixed is not None:
            return self._fixed
        ref = self._pricer.model_of(request)
        rules = self._rules.get(ref)
        if rules is None:
            rules = self._rules[ref] = self._made(ref)
        return rules

    def _made(self, ref: ModelRef | None) -> CacheRules:
        if ref is None or not has_rules(ref.provider):
            self._without[ref.model if ref is not None else "models without a price"] = None
            return NoRules()
        memory = self._memories.setdefault(ref.provider, Memory())
        rules = rules_for(ref.provider, ref.model, self._settings, self._carries_markers, memory)
        self._rules[ref] = rules
        return rules

    def notes(self) -> list[str]:
        """What the rules have to say, each sentence once."""
        notes = dict.fromkeys(note for rules in self._rules.values() for note in rules.notes())
        if self._without:
            names = ", ".join(self._without)
            notes[f"no cache rules for {names}: every prompt token counts as fresh"] = None
        return list(notes)
