"""Which prices hold for a request: the model's card at its moment, its tier, its hour."""

from datetime import UTC, datetime, timedelta

from cachecast_datasets.errors import BadInput
from cachecast_datasets.request import Request
from cachecast_pricing.catalog import Catalog
from cachecast_pricing.model_ids import ModelRef
from cachecast_pricing.rates import STANDARD, ClassPrices, RateCard
from cachecast_sim.scenario import Scenario

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Moment:
    """Card, tier and hour of a request; prices follow from its prompt size.

    `bands` are (first prompt size, prices), the largest first.
    """

    __slots__ = ("bands", "card", "peak", "tier")

    def __init__(self, card: RateCard, tier: str, peak: bool) -> None:
        self.card = card
        self.tier = tier
        self.peak = peak
        starts = sorted({0, *(t.first_tokens for t in card.thresholds())}, reverse=True)
        self.bands = [(start, card.prices(start, tier=tier, peak=peak)) for start in starts]

    def prices(self, prompt_tokens: int) -> ClassPrices:
        """The prices that the whole request moves to at this size."""
        for start, prices in self.bands:
            if prompt_tokens >= start:
                return prices
        raise AssertionError(f"{prompt_tokens} prompt tokens")


class Pricer:
    """Finds the prices of each request of one scenario; remembers what it had to assume."""

    def __init__(self, scenario: Scenario, catalog: Catalog, absolute_times: bool) -> None:
        self.scenario = scenario
        self.catalog = catalog
        self.by_arrival = absolute_times and scenario.on is None
        newest = datetime.combine(catalog.newest, datetime.min.time(), tzinfo=UTC)
        self.fixed_on = scenario.on or newest
        self.assumptions: dict[str, None] = {}  # an ordered set of sentences
        self._models: dict[tuple[str | None, str | None], ModelRef | None] = {}
        self._cards: dict[ModelRef, RateCard] = {}
        self._moments: dict[ModelRef, dict[str, Moment]] = {}
        self._made: dict[tuple[int, str, bool], Moment] = {}
        if scenario.model is not None:
            self._check_named(scenario.model)

    def _check_named(self, ref: ModelRef) -> None:
        """A model, tier, day or currency that a person named must exist: say so before the run."""
        card = self._card_at(ref, self.fixed_on)
        if self.scenario.tier is not None:
            card.prices(0, tier=self.scenario.tier)

    def model_of(self, request: Request) -> ModelRef | None:
        """The model whose rules and prices the request falls under; None if it has none."""
        if self.scenario.model is not None:
            return self.scenario.model
        key = (request.model, request.provider)
        if key not in self._models:
            self._models[key] = self.catalog.find(*key)
        return self._models[key]

    def moment(self, request: Request, ref: ModelRef) -> Moment | None:
        """Card, tier and hour; None where the log's own model has no price then."""
        if not self.by_arrival:
            tier = self.scenario.tier or self._tier_name(request)
            by_tier = self._moments.setdefault(ref, {})
            known = by_tier.get(tier)
            if known is None:
                known = by_tier[tier] = self._moment(ref, tier, self.fixed_on, False)
            return known
        at = EPOCH + timedelta(microseconds=request.arrival_us)
        card = self._cards.get(ref)
        if card is None or not card.valid_on(at):
            try:
                card = self._card_at(ref, at)
            except BadInput:
                if self.scenario.model is not None:
                    raise
                return None
        return self._with_tier(card, self._tier_name(request), card.has_peak and card.is_peak(at))

    def _moment(self, ref: ModelRef, tier: str, on: datetime, peak: bool) -> Moment:
        card = self._card_at(ref, on)
        if card.has_peak:
            self.assumptions["standard (off-peak) hours, since no arrival has an absolute time"] = (
                None
            )
        return self._with_tier(card, tier, peak)

    def _card_at(self, ref: ModelRef, on: datetime) -> RateCard:
        try:
            dated = self.catalog.card(ref, on, self.scenario.currency)
        except BadInput as problem:
            if self.scenario.on is not None or self.scenario.model is None:
                raise
            raise BadInput(f"{problem}; give the day to price at as on=DATE") from None
        for note in dated.notes:
            self.assumptions[f"{ref.model}: {note}"] = None
        self._cards[ref] = dated.card
        return dated.card

    def _tier_name(self, request: Request) -> str:
        if self.scenario.tier is not None:
            return self.scenario.tier
        if request.is_batch:
            return "batch"
        if request.speed == "fast":
            return "fast"
        tier = request.service_tier
        return tier if tier in ("batch", "flex", "priority", "fast") else STANDARD

    def _with_tier(self, card: RateCard, tier: str, peak: bool) -> Moment:
        if tier not in card.service_tiers:
            self.assumptions[
                f"{card.model} has no {tier} price; such requests are priced as standard"
            ] = None
            tier = STANDARD
        key = (id(card), tier, peak)  # the catalogue keeps every card alive
        made = self._made.get(key)
        if made is None:
            made = self._made[key] = Moment(card, tier, peak)
        return made
