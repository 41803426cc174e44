"""Which prices hold for a request: the model's card at its moment, its tier, its hour."""

from datetime import UTC, datetime, timedelta

from cachecast_datasets.errors import BadInput
from cachecast_datasets.request import Request
from cachecast_pricing.catalog import Catalog
from cachecast_pricing.model_ids import ModelRef, is_regional, names_region
from cachecast_pricing.money import factor_string
from cachecast_pricing.rates import SERVICE_TIERS, STANDARD, ClassPrices, RateCard
from cachecast_pricing.rules.settings import TTL_US
from cachecast_sim.scenario import Scenario

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_OFF_PEAK = "standard (off-peak) hours, since no arrival has an absolute time"
_STANDARD_NAMES = ("auto", "default", "standard", "standard_only")
_ROUTERS_REGION = "what a router charges for its regions is not known: no regional price for them"
Rate = tuple[str, bool]  # service tier; whether the regional price holds
_NO_MOMENTS: dict[Rate, "Moment"] = {}


class Moment:
    """Card, tier and hour of a request; prices follow from its prompt size.

    `bands` are (first prompt size, prices), the largest first. `peak` is set where only the day is
    known and the model has peak hours: the same in those, the upper end of the charge. `in_peak`:
    these are peak prices.
    """

    __slots__ = ("bands", "card", "in_peak", "peak")

    def __init__(self, card: RateCard, rate: "Rate", in_peak: bool, day_only: bool = False) -> None:
        self.card = card
        self.in_peak = in_peak
        starts = sorted({0, *(t.first_tokens for t in card.thresholds())}, reverse=True)
        tier, regional = rate
        self.bands = [
            (start, card.prices(start, tier=tier, peak=in_peak, regional=regional))
            for start in starts
        ]
        self.peak = Moment(card, rate, True) if day_only and card.has_peak else None

    def prices(self, prompt_tokens: int) -> ClassPrices:
        """The prices that the whole request moves to at this size."""
        for start, prices in self.bands:
            if prompt_tokens >= start:
                return prices
        raise AssertionError(f"{prompt_tokens} prompt tokens")

    def is_long(self, prompt_tokens: int) -> bool:
        """Whether a prompt of this size is beyond the threshold of the lowest prices."""
        return len(self.bands) > 1 and prompt_tokens >= self.bands[-2][0]


class Pricer:
    """Finds the prices of each request of one scenario; remembers what it had to assume.

    `by_arrival`: each request pays its own day's card; else all pay that of `fixed_on`.
    """

    def __init__(self, scenario: Scenario, catalog: Catalog, absolute_times: bool) -> None:
        self.scenario = scenario
        self.catalog = catalog
        self.absolute_times = absolute_times
        self.by_arrival = absolute_times and scenario.on is None
        newest = datetime.combine(catalog.newest, datetime.min.time(), tzinfo=UTC)
        self.fixed_on = newest if scenario.on is None else scenario.on.start
        self.assumptions: dict[str, None] = {}  # an ordered set of sentences
        self._models: dict[tuple[str | None, str | None], ModelRef | None] = {}
        self._cards: dict[ModelRef, RateCard] = {}
        self._moments: dict[ModelRef, dict[Rate, Moment]] = {}
        self._made: dict[tuple[int, Rate, bool], Moment] = {}
        self._regional: dict[tuple[str | None, str | None, str | None], bool] = {}
        if scenario.model is not None:
            self._check_named(scenario.model)

    def _check_named(self, ref: ModelRef) -> None:
        """A model, tier, day or currency that a person named must exist: say so before the run."""
        card = self._card_at(ref, self.fixed_on)
        prices = card.prices(0, tier=self.scenario.tier or STANDARD)
        if self.scenario.regional and card.regional_factor is None:
            raise BadInput(
                f"regional=on: no regional price is known for {ref.provider}/{ref.model}"
            )
        ttl = self.scenario.settings.ttl
        if ttl is not None and getattr(prices, f"cache_write_{ttl}") is None:
            offered = [t for t in TTL_US if getattr(prices, f"cache_write_{t}") is not None]
            raise BadInput(
                f"ttl={ttl}: {ref.provider}/{ref.model} has no price for such writes; it has: "
                f"{', '.join(offered) or 'no write price at all'}"
            )

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
        rate = (self.scenario.tier or self._tier_name(request), self._is_regional(request))
        known = self._moments.get(ref, _NO_MOMENTS).get(rate)
        if known is not None:
            return known
        at = EPOCH + timedelta(microseconds=request.arrival_us)
        card = self._cards.get(ref)
        if card is None or not card.valid_on(at if self.by_arrival else self.fixed_on):
            try:
                card = self._card_at(ref, at if self.by_arrival else self.fixed_on)
            except BadInput:
                if self.scenario.model is not None:
                    raise
                return None
        listed = (self._listed(card, rate[0]), rate[1] and self._has_regional(card))
        made, for_all = self._in_its_hour(card, listed, at)
        if for_all and not self.by_arrival:  # every request of this rate pays the same
            self._moments.setdefault(ref, {})[rate] = made
        return made

    def _in_its_hour(self, card: RateCard, rate: Rate, at: datetime) -> tuple[Moment, bool]:
        """Peak hours are judged by the arrival, else by the scenario's moment, else unknown."""
        on = self.scenario.on
        if card.has_peak and self.absolute_times and (on is None or on.bare):
            return self._remembered(card, rate, card.is_peak(at)), False
        peak = on is not None and not on.bare and card.is_peak(on.start)
        if card.has_peak and on is None:
            self.assumptions[_OFF_PEAK] = None
        return self._remembered(card, rate, peak, day_only=on is not None and on.bare), True

    def _remembered(self, card: RateCard, rate: Rate, peak: bool, day_only: bool = False) -> Moment:
        key = (id(card), rate, peak)  # the catalogue keeps every card alive
        made = self._made.get(key)
        if made is None:
            made = self._made[key] = Moment(card, rate, peak, day_only)
        return made

    def _card_at(self, ref: ModelRef, on: datetime) -> RateCard:
        try:
            dated = self.catalog.card(ref, on, self.scenario.currency)
        except BadInput as problem:
            named = self.scenario.on or self.scenario.currency
            if named is not None or self.scenario.model is None:
                raise
            raise BadInput(f"{problem}; name a day to price at: --as {ref.model},on=DATE") from None
        self.assumptions[f"{ref.model}: price read on {dated.card.checked}"] = None
        for note in dated.notes:
            self.assumptions[f"{ref.model}: {note}"] = None
        self._cards[ref] = dated.card
        return dated.card

    def _tier_name(self, request: Request) -> str:
        """The service tier that the request itself names."""
        if request.is_batch:
            return "batch"
        if "fast" in (request.speed, request.settings.get("speed")):
            return "fast"
        tier = request.service_tier
        if tier is None or tier in _STANDARD_NAMES:
            return STANDARD
        if tier not in SERVICE_TIERS:
            self.assumptions[f"service tier {tier!r} is not known: priced as standard"] = None
            return STANDARD
        return tier

    def _is_regional(self, request: Request) -> bool:
        """Whether the scenario, the log's region or its model id asks for the regional price."""
        if self.scenario.regional is not None:
            return self.scenario.regional
        named = (request.region, request.model, request.platform)
        found = self._regional.get(named)
        if found is None:
            found = names_region(request.region) or is_regional(request.model or "")
            if found and (request.platform or "").startswith("openrouter"):
                self.assumptions[_ROUTERS_REGION] = None
                found = False
            self._regional[named] = found
        return found

    def _has_regional(self, card: RateCard) -> bool:
        """Whether the card has a regional price; either way it is said."""
        if card.regional_factor is None:
            told = f"{card.model} has no regional price: requests in a region are priced as others"
        else:
            why = "regional=on" if self.scenario.regional else "as the log names a region"
            told = f"{card.model}: {factor_string(card.regional_factor)} times the price, {why}"
        self.assumptions[told] = None
        return card.regional_factor is not None

    def _listed(self, card: RateCard, tier: str) -> str:
        """The tier if the card has a price for it, else standard."""
        if tier in card.service_tiers:
            return tier
        self.assumptions[
            f"{card.model} has no {tier} price; such requests are priced as standard"
        ] = None
        return STANDARD
