"""The price of one usage object: resolve, read, charge, and say what is uncertain."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from cachecast_datasets.errors import BadInput
from cachecast_pricing.catalog import Catalog
from cachecast_pricing.charge import Charge, NoPrice, charge, sum_of, unknown_bounds, without_cache
from cachecast_pricing.counts import shown
from cachecast_pricing.model_ids import ModelRef, is_regional
from cachecast_pricing.moments import When, parse_when
from cachecast_pricing.money import decimal_string, factor_string
from cachecast_pricing.quote_lines import Line, lines_of, together
from cachecast_pricing.quote_notes import closing_notes, other_hosts, price_notes, response_notes
from cachecast_pricing.rates import SERVICE_TIERS, STANDARD, RateCard
from cachecast_pricing.reading import UsageReading, detect_api, read_usage
from cachecast_pricing.responses import usage_of
from cachecast_pricing.unpriced import unpriced_note
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
    without_cache_high: int  # above `without_cache` where the hour decides the price
    lines: tuple[Line, ...]
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
            "lines": [line.as_json() for line in self.lines],
            "without_cache": decimal_string(self.without_cache),
            "net_saving": decimal_string(self.net_saving),
            "reported_cost": None if self.reading.reported_cost is None
            else decimal_string(self.reading.reported_cost),
            "notes": list(self.notes),
        }  # fmt: skip


def quote(
    catalog: Catalog, model: str, raw: Mapping[str, Any], *, provider: str | None = None,
    api: str | None = None, on: str | None = None, tier: str | None = None,
    currency: str | None = None, regional: bool = False,
) -> Quote:  # fmt: skip
    """What `raw` costs under the prices of `model`: a usage object, or a response that holds one.

    `regional` asks for the regional price, which the usage or the model id may ask for as well.
    Raises BadInput (UnknownModel, NoPrice, UsageError) where the catalogue or the object says no.
    """
    ref = catalog.resolve(model, provider)
    when = parse_when(on, catalog.newest)
    found = usage_of(raw)
    if api is None:
        api = detect_api(found.usage, ref.provider)
    reading = read_usage(api, found.usage)
    notes = [*catalog.notes, *when.notes, *response_notes(catalog, found, ref), *reading.notes]
    parts = [
        _part(catalog, _model_of(catalog, part, ref), part, model, when, tier, currency, regional)
        for part in reading.iterations or (reading,)
    ]
    for part in parts:
        notes += part.notes
    total = sum_of([part.charge for part in parts])
    plain = sum(part.without_cache for part in parts)
    dearest_plain = sum(part.without_cache_high for part in parts)
    notes += closing_notes(reading, total, (plain, dearest_plain))
    notes += unpriced_note(found)
    if provider is None:
        notes += other_hosts(catalog, ref)
    highs = [part.high for part in parts]
    usage = reading.usage if reading.iterations else parts[0].reading.usage
    return Quote(
        ref=ref,
        reading=replace(reading, usage=usage),
        charge=total,
        low=sum(part.low for part in parts),
        high=None if None in highs else sum(high for high in highs if high is not None),
        without_cache=plain,
        without_cache_high=dearest_plain,
        lines=together(part.lines for part in parts),
        notes=tuple(dict.fromkeys(notes)),
    )


def _model_of(catalog: Catalog, part: UsageReading, ref: ModelRef) -> ModelRef:
    """The model of an iteration; advisor and fallback iterations name their own."""
    if part.model is None:
        return ref
    return catalog.resolve(part.model)


def _part(
    catalog: Catalog, ref: ModelRef, reading: UsageReading, name: str, when: When,
    tier: str | None, currency: str | None, in_region: bool,
) -> Quote:  # fmt: skip
    """One request (or iteration) charged at every price that may hold, the likeliest first."""
    dated = catalog.card(ref, when.start, currency)
    notes = list(dated.notes)
    chosen = _tier(dated.card, reading, tier, notes)
    regional = _regional(dated.card, reading.regional or is_regional(name), in_region, notes)
    reading = _settled(dated.card, reading, notes)
    usage = reading.usage
    possible = [
        card.prices(usage.prompt_tokens, tier=chosen, peak=peak, regional=regional)
        for card, peak in _cases(catalog, dated.card, ref, when)
    ]
    try:
        charges = [charge(usage, prices) for prices in possible]
    except NoPrice as problem:
        size = f"{usage.prompt_tokens} prompt tokens"
        raise NoPrice(f"{ref.provider}/{ref.model} ({chosen}, {size}): {problem}") from None
    inclusive = reading.semantics == "inclusive"
    bounds = [
        unknown_bounds(usage, charged, prices, reading.unknown, inclusive=inclusive)
        for charged, prices in zip(charges, possible, strict=True)
    ]
    notes += price_notes(dated.card, charges[0], usage, chosen, when)
    highs = [high for _, high in bounds]
    return Quote(
        ref=ref,
        reading=reading,
        charge=charges[0],
        low=min(low for low, _ in bounds),
        high=None if None in highs else max(high for high in highs if high is not None),
        without_cache=without_cache(usage, possible[0]),
        without_cache_high=max(without_cache(usage, prices) for prices in possible),
        lines=tuple(lines_of(usage, possible[0])),
        notes=tuple(notes),
    )


def _cases(
    catalog: Catalog, card: RateCard, ref: ModelRef, when: When
) -> list[tuple[RateCard, bool]]:
    """Every (card, peak hours?) that the known moment allows; the first is the one to show.

    A day alone allows both sides of a peak hour, and of a price change during that day.
    """
    if not when.bare:
        return [(card, card.is_peak(when.start))]
    later = catalog.cards_between(ref, when.start, when.end, card.currency)
    cards = [card, *(other for other in later if not other.valid_on(when.start))]
    return [(c, peak) for c in cards for peak in ((False, True) if c.has_peak else (False,))]


def _tier(card: RateCard, reading: UsageReading, asked: str | None, notes: list[str]) -> str:
    """The service tier: what was asked for, else what the usage itself names."""
    named = reading.service_tier
    if asked is not None:
        wanted = asked.strip().lower()
        if not wanted:
            raise BadInput(f"the service tier is empty; accepted: {', '.join(SERVICE_TIERS)}")
        stated = named or (STANDARD if reading.standard_tier else wanted)
        if stated != wanted:
            notes.append(f"priced at tier {wanted} as asked, but the usage says {_word(stated)}")
        return wanted
    if named is None:
        return STANDARD
    if named in card.tiers:
        notes.append(f"service tier {named}, as the usage says")
        return named
    notes.append(
        f"the usage says tier {_word(named)}, which has no price of its own: standard is used"
    )
    return STANDARD


def _word(text: str) -> str:
    """A word of the usage object, quoted where it is not plain."""
    return text if text.isascii() and text.isidentifier() and len(text) <= 40 else shown(text)


def _regional(card: RateCard, stated: bool, asked: bool, notes: list[str]) -> bool:
    """Whether the price of a regional endpoint holds, as the usage or model id states, or asked."""
    if not (stated or asked):
        return False
    if card.regional_factor is not None:
        extra = factor_string(card.regional_factor)
        who = "as the usage or model id says" if stated else "as asked"
        notes.append(f"regional processing, {who}: {extra} times the price")
        return True
    if asked:
        raise BadInput(f"no regional price is known for {card.provider}/{card.model}")
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
