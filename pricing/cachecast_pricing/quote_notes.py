"""What has to be said beside a price: sentences about the prices, the hosts and the usage."""

from cachecast_pricing.catalog import Catalog
from cachecast_pricing.charge import Charge
from cachecast_pricing.model_ids import ModelRef
from cachecast_pricing.moments import When
from cachecast_pricing.money import decimal_string
from cachecast_pricing.rates import RateCard
from cachecast_pricing.reading import UsageReading
from cachecast_pricing.responses import Found
from cachecast_pricing.usage import Usage


def price_notes(card: RateCard, charged: Charge, usage: Usage, tier: str, when: When) -> list[str]:
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


def other_hosts(catalog: Catalog, ref: ModelRef) -> list[str]:
    """The other price lists that a host's model could have meant."""
    others = [f"{other.provider} ({other.model})" for other in catalog.also_listed(ref)]
    if not others or not catalog.is_host(ref.provider):
        return []
    return [f"priced at {ref.provider}; also listed by {', '.join(others)}: --provider chooses"]


def response_notes(catalog: Catalog, found: Found, ref: ModelRef) -> list[str]:
    """That a whole response was given, and that it names another model than the one priced."""
    if found.how is None:
        return []
    own = catalog.find(found.model)
    if own is None or own.model == ref.model:
        return [found.how]
    return [found.how, f"the response names {found.model}, but the prices are those of {ref.model}"]


def closing_notes(reading: UsageReading, charged: Charge, plain: tuple[int, int]) -> list[str]:
    """What has to be said about the usage object itself; `plain`: without a cache, least and most.

    Where only the day is known, the cost without a cache is as uncertain as the charge.
    """
    notes = []
    if reading.unknown:
        names = ", ".join(sorted(reading.unknown))
        bounded = reading.semantics == "inclusive" and not reading.unknown & {"fresh", "output"}
        how = "counted as fresh, the interval says what it can be" if bounded else "a lower bound"
        notes.append(f"{names} is null in the usage, that is unknown: {how}")
    low, high = (decimal_string(amount) for amount in plain)
    if low != high:
        notes.append(f"without a cache between {low} and {high} {charged.currency}")
    if reading.reported_cost is not None:
        notes.append(_reported(reading, charged))
    return notes


def _reported(reading: UsageReading, charged: Charge) -> str:
    """The provider's own cost beside ours."""
    assert reading.reported_cost is not None
    own = f"the provider's own cost is {decimal_string(reading.reported_cost)}"
    own = f"{own} {reading.reported_currency}"
    if reading.reported_currency != charged.currency:
        return own
    more = reading.reported_cost - charged.total
    if not more:
        return f"{own}, the same as ours"
    return f"{own}, {decimal_string(abs(more))} {'more' if more > 0 else 'less'} than ours"
