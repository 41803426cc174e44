"""One scenario over one log: the whole main job, as a stream of ledger rows."""

from collections.abc import Callable, Iterable, Iterator
from typing import cast

from cachecast_datasets.errors import RequestLacks
from cachecast_datasets.log_meta import LogMeta
from cachecast_datasets.request import Request
from cachecast_datasets.turn_columns import BLOCKS
from cachecast_datasets.turn_columns import COLUMNS as TURN_COLUMNS
from cachecast_pricing.catalog import Catalog
from cachecast_pricing.model_ids import ModelRef, is_regional
from cachecast_pricing.rates import ClassPrices
from cachecast_pricing.rules.families import family_of, has_rules
from cachecast_pricing.rules.next_turn import UsualRules
from cachecast_pricing.rules.places import steps_of
from cachecast_pricing.rules.settings import without_effect
from cachecast_sim.ledger import LedgerRow, ledger
from cachecast_sim.pricer import Pricer
from cachecast_sim.provider import ProviderWorld, reported_outcome
from cachecast_sim.rulebook import Rulebook
from cachecast_sim.scenario import Scenario
from cachecast_sim.turns import Lane, TurnWorld

_ALWAYS = (
    "account", "session_id", "agent_id", "provider", "platform", "region", "model", "model_served",
    "service_tier", "speed", "is_batch", "settings", "cache_mode", "blocks", "boundaries",
    "token_block_size", "hash_scope", "answer_hash", "prompt_tokens", "output_tokens",
    "tools_tokens", "system_tokens", "first_token_s", "end_s", "observed", "status",
)  # fmt: skip
_RUN_FAMILIES = ("interval", "units")  # these look at runs of token blocks

ModelName = tuple[str | None, str | None]  # as a log names a request's model, and its provider


class Billing:
    """A scenario about to be run over a log; use it once."""

    def __init__(self, scenario: Scenario, catalog: Catalog, meta: LogMeta) -> None:
        self.scenario = scenario
        self.meta = meta
        self.pricer = Pricer(scenario, catalog, meta.time_origin == "absolute")
        self.counts_only = meta.evidence == "counts"
        self.rulebook: Rulebook | None = None
        self.world: ProviderWorld | TurnWorld | None = None
        self._lanes: dict[tuple[ModelRef, bool], Lane | None] = {}
        if not self.counts_only:
            self.rulebook = Rulebook(self.pricer, scenario.settings, meta.carries_markers)
            self.world = ProviderWorld(self.rulebook.rules_of, scenario.settings.first_token_s)

    def columns(self) -> tuple[str, ...]:
        """The columns of the log that this scenario reads."""
        return (*_ALWAYS, "token_blocks") if self._reads_runs() else _ALWAYS

    def _reads_runs(self) -> bool:
        model = self.scenario.model
        if self.counts_only:
            return False
        return model is None or self._places_at_blocks() or _looks_at_runs(model)

    def turn_columns(self, models_of: Callable[[], Iterable[ModelName]]) -> tuple[str, ...]:
        """The columns of the log that the columnar path reads, `models_of` being the log's models.

        Token blocks are most of a log: they are read where a rule looks at them.
        """
        looks = self._places_at_blocks()
        if not looks and self.scenario.model is None and self.meta.evidence == "token_blocks":
            found = (self.pricer.catalog.find(*named) for named in models_of())
            looks = any(ref is not None and _looks_at_runs(ref) for ref in found)
        return (*TURN_COLUMNS, BLOCKS) if looks else TURN_COLUMNS

    def _places_at_blocks(self) -> bool:
        return bool(steps_of(self.scenario.settings.mark))

    def rows(self, requests: Iterable[Request]) -> Iterator[LedgerRow]:
        """Every request of the log, in its order, with usage, reasons and charges."""
        if not isinstance(self.world, ProviderWorld):
            same = enumerate(self._same_provider(requests))
            return ledger((reported_outcome(request, i) for i, request in same), self.pricer)
        return ledger(self.world.outcomes(requests), self.pricer, self._marks_assumed())

    def _marks_assumed(self) -> bool:
        """Whether a policy stands in for markers that the log's source cannot show."""
        return not self.meta.carries_markers and self.scenario.settings.mark != "none"

    def turns(self) -> TurnWorld | None:
        """The columnar path for totals, where this scenario and log allow it."""
        if self.rulebook is None or self.pricer.by_arrival or self.meta.evidence != "token_blocks":
            return None
        if self.scenario.model is not None and self._lane(Request("", 0)) is None:
            return None
        self.world = TurnWorld(
            self._lane,
            self.rulebook.rules_of,
            self.pricer,
            self.scenario.settings.first_token_s,
            self._marks_assumed(),
        )
        return self.world

    def _lane(self, request: Request) -> Lane | None:
        """The short way of usual turns of the request's model; one for each model."""
        assert self.rulebook is not None  # the log has more than counts
        ref, rules = self.pricer.model_of(request), self.rulebook.rules_of(request)
        ways = (getattr(rules, way, False) for way in ("shortcut", "placed"))
        if ref is None or not any(ways):
            return None
        key = (ref, is_regional(request.model or ""))
        if key not in self._lanes:
            moment = self.pricer.moment(request, ref)
            short = (
                moment is not None
                and not moment.card.has_peak
                and all(_complete(prices) for _, prices in moment.bands)
            )
            self._lanes[key] = Lane(cast(UsualRules, rules), moment) if short and moment else None
        return self._lanes[key]

    def _same_provider(self, requests: Iterable[Request]) -> Iterator[Request]:
        """A counts-only log can be repriced within its provider, not re-cached under another."""
        model = self.scenario.model
        for request in requests:
            if model is not None:
                own = self.pricer.catalog.find(request.model, request.provider)
                if own is not None and own.provider != model.provider:
                    raise RequestLacks(
                        f"request {request.request_id}: this log has counts only, so {own.model}'s "
                        f"usage can be repriced, but not re-cached under {model.provider}'s rules; "
                        "that needs a log with content blocks or token blocks"
                    )
            yield request

    def assumptions(self) -> list[str]:
        """What the result rests on, in plain sentences; complete once all rows were taken."""
        if self.counts_only:
            return [
                self._prices(), *self.pricer.assumptions,
                "counts only: usage as observed, nothing was simulated",
            ]  # fmt: skip
        found = [self._scope(), self._first_token(), self._prices(), *self.pricer.assumptions]
        if self.rulebook is not None:
            found += self.rulebook.notes()
        model = self.scenario.model
        if model is not None:
            idle = without_effect(self.scenario.settings, family_of(model.provider, model.model))
            found += [f"{key}= has no effect on {model.model}" for key in idle]
        if self.meta.keeps_partial_block:
            found.append(
                "the log keeps partial last blocks, and an end inside a block is not found again "
                "by a longer prompt: reads at written or marked boundaries are a lower bound"
            )
        return [sentence for sentence in found if sentence]

    def _scope(self) -> str:
        return (
            "each account (or source scope, where the log has no accounts), model of the log, "
            "platform and region has a cache of its own"
        )

    def _first_token(self) -> str:
        estimated = self.world.desk.estimated_first_tokens if self.world is not None else 0
        if not estimated:
            return ""
        if self.scenario.settings.first_token_s is not None:
            return (
                f"first token {self.scenario.settings.first_token_s} s after {estimated:,} arrivals"
            )
        return (
            f"first token of {estimated:,} requests estimated: "
            "min(end, 0.5 s + 0.1 ms a token not read) after the arrival"
        )

    def _prices(self) -> str:
        if self.pricer.by_arrival:
            return "prices of each request's own arrival"
        why = "" if self.scenario.on is not None else ", the newest day of the catalogue"
        return f"prices of {self.pricer.fixed_on.date()}{why}"


def _looks_at_runs(ref: ModelRef) -> bool:
    return has_rules(ref.provider) and family_of(ref.provider, ref.model) in _RUN_FAMILIES


def _complete(prices: ClassPrices) -> bool:
    """Whether every class that a usual next turn can have has a price."""
    return None not in (prices.fresh, prices.cache_read, prices.output) and bool(
        prices.write_prices
    )
