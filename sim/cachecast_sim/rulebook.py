"""Which rules each request of a scenario falls under; one memory per provider."""

from dataclasses import replace

from cachecast_datasets.request import Request
from cachecast_pricing.model_ids import ModelRef
from cachecast_pricing.rules.families import family_of, has_rules, offers, rules_for, takes_places
from cachecast_pricing.rules.memory import Memory
from cachecast_pricing.rules.protocol import CacheRules
from cachecast_pricing.rules.settings import RuleSettings
from cachecast_sim.pricer import Pricer


class Rulebook:
    """Rules by model, made on first use; models of one provider share what it remembers.

    A model whose provider has no rules here has None: its requests are taken as reported.
    """

    def __init__(self, pricer: Pricer, settings: RuleSettings, carries_markers: bool) -> None:
        self._pricer = pricer
        self._settings = settings
        self._carries_markers = carries_markers
        self._memories: dict[str, Memory] = {}
        self._rules: dict[ModelRef | None, CacheRules | None] = {}
        self._without: dict[str, None] = {}
        self._unoffered: dict[str, None] = {}
        self._unplaced: dict[str, None] = {}
        self._fixed: CacheRules | None = None
        model = pricer.scenario.model
        if model is not None:
            family_of(model.provider, model.model)  # a named model without rules is an error
            self._fixed = self._made(model)

    def rules_of(self, request: Request) -> CacheRules | None:
        """The rules for this request."""
        if self._fixed is not None:
            return self._fixed
        ref = self._pricer.model_of(request)
        if ref not in self._rules:
            self._rules[ref] = self._made(ref)
        return self._rules[ref]

    def _made(self, ref: ModelRef | None) -> CacheRules | None:
        if ref is None or not has_rules(ref.provider):
            self._without[ref.model if ref is not None else "models without a price"] = None
            return None
        memory = self._memories.setdefault(ref.provider, Memory())
        settings = self._settings
        if self._pricer.scenario.model is None and not offers(ref, settings.ttl):
            self._unoffered[ref.model] = None  # a named model is refused, a log's own keeps its own
            settings = replace(settings, ttl=None)
        if self._pricer.scenario.model is None and not takes_places(ref, settings.mark):
            self._unplaced[ref.model] = None
            settings = replace(settings, mark=None)
        rules = rules_for(ref.provider, ref.model, settings, self._carries_markers, memory)
        self._rules[ref] = rules
        return rules

    def notes(self) -> list[str]:
        """What the rules have to say, each sentence once."""
        known = [rules for rules in self._rules.values() if rules is not None]
        notes = dict.fromkeys(note for rules in known for note in rules.notes())
        if self._unoffered:
            names = ", ".join(self._unoffered)
            notes[f"ttl={self._settings.ttl} is not offered by {names}: their own lifetimes"] = None
        if self._unplaced:
            names = ", ".join(self._unplaced)
            notes[f"mark={self._settings.mark} is not for {names}: markers as the log has them"] = (
                None
            )
        if self._without:
            names = ", ".join(self._without)
            notes[f"no cache rules for {names}: usage as the log reports it, else an interval"] = (
                None
            )
        return list(notes)
