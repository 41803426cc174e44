"""The catalogue as rows for `cachecast models`."""

from datetime import datetime
from typing import Any

from cachecast_pricing.catalog import Catalog
from cachecast_pricing.model_ids import key_of
from cachecast_pricing.money import factor_string, per_mtok_string
from cachecast_pricing.rates import PRICED, ClassPrices, RateCard
from cachecast_pricing.rules.families import has_rules


def listing(
    catalog: Catalog, provider: str | None = None, name: str | None = None
) -> list[dict[str, Any]]:  # fmt: skip
    """One row for each model, validity period and currency, in the shape of the JSON contract.

    `prices` is tier -> class -> price per million tokens (storage: and hour), null where there is
    none; `cache_rules` says whether the model's cache can be simulated. `name` keeps the models
    whose id contains it, or that it is another spelling of. Raises BadInput for an unknown
    provider, UnknownModel for a name that fits none.
    """
    wanted = None if provider is None else catalog.provider(provider)
    cards = [card for card in catalog.rows() if wanted in (None, card.provider)]
    if name is not None:
        cards = _named(catalog, cards, name, wanted)
    return [_row(card) for card in cards]


def _named(
    catalog: Catalog, cards: list[RateCard], name: str, provider: str | None
) -> list[RateCard]:  # fmt: skip
    """The cards of models whose id contains the name, dots or dashes; else of the one it means."""
    part = key_of(name)
    found = [card for card in cards if part in key_of(f"{card.provider}/{card.model}")]
    if found:
        return found
    ref = catalog.resolve(name, provider)
    return [card for card in cards if (card.provider, card.model) == (ref.provider, ref.model)]


def _row(card: RateCard) -> dict[str, Any]:
    tiers = card.service_tiers
    return {
        "model": card.model,
        "provider": card.provider,
        "currency": card.currency,
        "cache_rules": has_rules(card.provider),
        "valid_from": _moment(card.valid_from),
        "valid_to": _moment(card.valid_to),
        "prices": {tier: _classes(card.prices(0, tier=tier)) for tier in tiers},
        "peak_prices": {tier: _classes(card.prices(0, tier=tier, peak=True)) for tier in tiers}
        if card.has_peak
        else None,
        "long_context": [
            {
                "threshold": threshold.tokens,
                "operator": threshold.operator,
                "prices": {
                    tier: _classes(card.prices(threshold.first_tokens, tier=tier)) for tier in tiers
                },
            }
            for threshold in card.thresholds()
        ],
        "regional_factor": None
        if card.regional_factor is None
        else factor_string(card.regional_factor),
        "source": "; ".join(card.sources),
        "checked": card.checked,
        "notes": [note.text for note in card.notes],
    }


def _classes(prices: ClassPrices) -> dict[str, str | None]:
    return {name: per_mtok_string(getattr(prices, name)) for name in PRICED}


def _moment(at: datetime | None) -> str | None:
    """A date, or a time where the change was not at midnight UTC."""
    if at is None:
        return None
    return at.strftime("%Y-%m-%d" if (at.hour, at.minute) == (0, 0) else "%Y-%m-%dT%H:%M:%SZ")
