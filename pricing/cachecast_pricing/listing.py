"""The catalogue as rows for `cachecast models`."""

from datetime import datetime
from typing import Any

from cachecast_pricing.catalog import Catalog
from cachecast_pricing.money import factor_string, per_mtok_string
from cachecast_pricing.rates import PRICED, ClassPrices, RateCard


def listing(catalog: Catalog, provider: str | None = None) -> list[dict[str, Any]]:
    """One row for each model, validity period and currency, in the shape of the JSON contract.

    `prices` is tier -> class -> price per million tokens (storage: and hour), null where there is
    none. Raises BadInput for an unknown provider.
    """
    wanted = None if provider is None else catalog.provider(provider)
    return [_row(card) for card in catalog.rows() if wanted in (None, card.provider)]


def _row(card: RateCard) -> dict[str, Any]:
    tiers = card.service_tiers
    return {
        "model": card.model,
        "provider": card.provider,
        "currency": card.currency,
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
