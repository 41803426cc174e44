"""The price of one usage object: resolve, read, charge, and say what is uncertain."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from cachecast_pricing.catalog import Catalog
from cachecast_pricing.charge import Charge, NoPrice, charge, without_cache
from cachecast_pricing.model_ids import ModelRef, is_regional
from cachecast_pricing.moments import When, parse_when
from cachecast_pricing.money import decimal_string, factor_string
from cachecast_pricing.rates import STANDARD, ClassPrices, RateCard
from cachecast_pricing.reading import UsageReading, detect_api, read_usage
from cachecast_pricing.usage import Usage


@dataclass(frozen=True, slots=True)
class Quote:
    """A priced usage. `high` None: the source leaves the amount open upwards."""

    ref: ModelRef
    reading: UsageReading
    charge: Charge
    low: int
    high: int | None
    without_cache: int
    notes: tuple[str, ...]

    @property
    def net_saving(self) -> int:
        """What the cache saved, write premium included; negative when it cost money."""
        return self.without_cache - self.charge.total

    def as_json(self) -> dict[str, Any]:
        """The machine-readable contract of `cachecast price`."""
        certain = self.low == self.high
        return {
            "model": self.ref.model,
            "provider": self.ref.provider,
            "usage": self.reading.usage.as_dict(),
            "prompt_tokens": self.reading.usage.prompt_tokens,
            "output_reasoning": self.reading.output_reasoning,
            "semantics": self.reading.semantics,
            "charge": {
                "currency": self.charge.currency,
                "fresh": decimal_string(self.charge.fresh),
                "cache_read": decimal_string(self.charge.cache_read),
                "cache_write": decimal_string(self.charge.cache_write),
                "output": decimal_string(self.charge.output),
                "storage": decimal_string(self.charge.storage),
                "total": decimal_string(self.charge.total),
            },
            "interval": None if certain else {
                "low": decimal_string(self.low),
                "high": None if self.high is None else decimal_string(self.high),
            },
            "without_cache": decimal_string(self.without_cache),
            "net_saving": decimal_string(self.net_saving),
            "reported_cost": None if self.reading.reported_cost is None
            else decimal_string(self.reading.reported_cost),
            "notes": list(self.notes),
        }  # fmt: skip


def quote(
    catalog: Catalog, model: str, raw: Mapping[str, Any], *, provider: str | None = None,
    api: str | None = None, on: str | None = None, tier: str | None = None,
    currency: str | None = None,
) -> Quote:  # fmt: skip
    """What `raw` (a provider's usage object) costs under the prices of `model`.

    Raises BadInput (UnknownModel, NoPrice, UsageError) where the catalogue or the object says no.
    """
    ref = catalog.resolve(model, provider)
    when = parse_when(on, catalog.newest)
    reading = read_usage(api or detect_api(raw, ref.provider), raw)
    notes = [*when.notes, *reading.notes]
    parts = [
        _part(catalog, _model_of(catalog, part, ref), part, model, when, tier, currency)
        for part in reading.iterations or (reading,)
    ]
    for part in parts:
        notes += part.notes
    notes += _closing_notes(reading)
    if provider is None:
        notes += _other_hosts(catalog, ref)
    total = parts[0].charge
    for part in parts[1:]:
        total += part.charge
    highs = [part.high for part in parts]
    usage = reading.usage if reading.iterations else parts[0].reading.usage
    return Quote(
        ref=ref,
        reading=replace(reading, usage=usage),
        charge=total,
        low=sum(part.low for part in parts),
        high=None if None in highs else sum(high for high in highs if high is not None),
        without_cache=sum(part.without_cache for part in parts),
        notes=tuple(dict.fromkeys(notes)),
    )


def _model_of(catalog: Catalog, part: UsageReading, ref: ModelRef) -> ModelRef:
    """The model of an iteration; advisor and fallback iterations name their own."""
    if part.model is None:
        return ref
    return catalog.resolve(part.model)


def _part(
    catalog: Catalog, ref: ModelRef, reading: UsageReading, name: str, when: When,
    tier: str | None, currency: str | None,
) -> Quote:  # fmt: skip
    """One request (or iteration) charged at every price that may hold, the likeliest first."""
    dated = catalog.card(ref, when.start, currency)
    notes = list(dated.notes)
    chosen = _tier(dated.card, reading, tier, notes)
    regional = _regional(dated.card, reading, name, notes)
    reading = _settled(dated.card, reading, notes)
    usage = reading.usage
    possible = [
        card.prices(usage.prompt_tokens, tier=chosen, peak=peak, regional=regional)
        for card, peak in _cases(catalog, dated.card, ref, when, currency)
    ]
    try:
        charges = [charge(usage, prices) for prices in possible]
    except NoPrice as problem:
        size = f"{usage.prompt_tokens} prompt tokens"
        raise NoPrice(f"{ref.provider}/{ref.model} ({chosen}, {size}): {problem}") from None
    bounds = [_bounds(reading, c, prices) for c, prices in zip(charges, possible, strict=True)]
    notes += _price_notes(dated.card, charges[0], usage, chosen, when)
    highs = [high for _, high in bounds]
    return Quote(
        ref=ref,
        reading=reading,
        charge=charges[0],
        low=min(low for low, _ in bounds),
        high=None if None in highs else max(high for high in highs if high is not None),
        without_cache=without_cache(usage, possible[0]),
        notes=tuple(notes),
    )


def _cases(
    catalog: Catalog, card: RateCard, ref: ModelRef, when: When, currency: str | None
) -> list[tuple[RateCard, bool]]:
    """Every (card, peak hours?) that the known moment allows; the first is the one to show.

    A day alone allows both sides of a peak hour, and of a price change during that day.
    """
    if not when.bare:
        return [(card, card.is_peak(when.start))]
    later = catalog.cards_between(ref, when.start, when.end, currency)
    cards = [card, *(other for other in later if not other.valid_on(when.start))]
    return [(c, peak) for c in cards for peak in ((False, True) if c.has_peak else (False,))]


def _bounds(reading: UsageReading, charged: Charge, prices: ClassPrices) -> tuple[int, int | None]:
    """The least and the most that a usage with unknown classes can cost; None: no limit.

    In an inclusive object the unknown tokens are part of `fresh`: each may have been read, written
    or neither. Beside an additive one there may be any number more.
    """
    unknown = reading.unknown
    if not unknown:
        return charged.low, charged.high
    if reading.semantics != "inclusive" or unknown & {"fresh", "output"}:
        return charged.low, None
    pool = reading.usage.fresh
    possible = [prices.fresh]
    if "cache_read" in unknown:
        possible.append(prices.cache_read)
    if "cache_write" in unknown:
        possible += prices.write_prices
    priced = [price for price in possible if price is not None]
    return (
        charged.low - charged.fresh + pool * min(priced),
        charged.high - charged.fresh + pool * max(priced),
    )


def _tier(card: RateCard, reading: UsageReading, asked: str | None, notes: list[str]) -> str:
    """The service tier: what was asked for, else what the usage itself names."""
    named = reading.service_tier
    if asked is not None:
        return asked.strip().lower()
    if named is None:
        return STANDARD
    if named in card.tiers:
        notes.append(f"service tier {named}, as the usage says")
        return named
    notes.append(f"the usage says tier {named}, which has no price of its own: standard is used")
    return STANDARD


def _regional(card: RateCard, reading: UsageReading, name: str, notes: list[str]) -> bool:
    """Whether the price of a regional endpoint holds."""
    if not reading.regional and not is_regional(name):
        return False
    if card.regional_factor is not None:
        extra = factor_string(card.regional_factor)
        notes.append(f"regional processing, as the usage or model id says: {extra} times the price")
        return True
    notes.append("a regional endpoint may cost more; no regional price is known for this model")
    return False


def _settled(card: RateCard, reading: UsageReading, notes: list[str]) -> UsageReading:
    """The reading with lifetimes that this model sells.

    OpenAI-shaped objects do not say a lifetime and are read as OpenAI's 30 minutes; a model that
    has no such price (a Claude model behind a gateway) leaves the lifetime unknown.
    """
    usage = reading.usage
    prices = card.bands[0].prices
    if usage.cache_write_30m and prices.cache_write_30m is None and prices.write_prices:
        unknown = usage.cache_write_unknown + usage.cache_write_30m
        settled = {"cache_write_30m": 0, "cache_write_unknown": unknown}
        usage = Usage(**(usage.as_dict() | settled))
    elif usage.cache_write_30m and prices.cache_write_12h is not None:
        notes.append(
            "the usage does not say the lifetime of its written tokens: the default, 30 minutes, "
            "is assumed; this model also sells 12 hours at twice that price"
        )
    return replace(reading, usage=usage)


def _price_notes(card: RateCard, charged: Charge, usage: Usage, tier: str, when: When) -> list[str]:
    """What has to be said about the prices that were used."""
    notes = []
    band = card.band_of(usage.prompt_tokens)
    if band.threshold is not None:
        notes.append(
            f"the prompt of {usage.prompt_tokens} tokens is {band.threshold.operator} "
            f"{band.threshold.tokens}: the whole request is at the long-context price"
        )
    if band.note:
        notes.append(band.note)
    tier_note = card.tiers[tier].note
    if tier_note and usage.cache_read:
        notes.append(tier_note)
    if when.bare and card.has_peak:
        notes.append("only the day is known: off-peak price, the interval reaches to the peak one")
    elif card.peak and card.is_peak(when.start) and not card.peak.holidays:
        notes.append("peak hours; public holidays have none, but no holiday is listed")
    if when.bare and card.valid_to is not None and card.valid_to < when.end:
        notes.append(f"the price changes at {card.valid_to.isoformat()}: the earlier one is used")
    if charged.low != charged.high:
        notes.append(
            f"the lifetime of {usage.cache_write_unknown} written tokens is not known: the "
            "cheapest write price is used, the interval reaches to the dearest"
        )
    return notes


def _other_hosts(catalog: Catalog, ref: ModelRef) -> list[str]:
    """The other price lists that a host's model could have meant."""
    others = [f"{other.provider} ({other.model})" for other in catalog.also_listed(ref)]
    if not others or not catalog.is_host(ref.provider):
        return []
    return [f"priced at {ref.provider}; also listed by {', '.join(others)}: --provider chooses"]


def _closing_notes(reading: UsageReading) -> list[str]:
    """What has to be said about the usage object itself."""
    notes = []
    if reading.unknown:
        names = ", ".join(sorted(reading.unknown))
        bounded = reading.semantics == "inclusive" and not reading.unknown & {"fresh", "output"}
        how = "counted as fresh, the interval says what it can be" if bounded else "a lower bound"
        notes.append(f"{names} is null in the usage, that is unknown: {how}")
    if reading.reported_cost is not None:
        cost = decimal_string(reading.reported_cost)
        notes.append(f"the provider's own cost is {cost} {reading.reported_currency}")
    return notes
