"""The price catalogue, loaded once, and the scenarios that a person may choose from."""

from functools import cache

from cachecast_pricing.catalog import Catalog, load_catalog
from cachecast_pricing.rules.families import has_rules

OWN_MODELS = "log"  # `--as log`: each request under its own model


@cache
def catalogue() -> Catalog:
    """The catalogue that ships."""
    return load_catalog()


@cache
def models() -> tuple[str, ...]:
    """Models whose caches `bill` can simulate, by name."""
    cards = catalogue().rows()
    return tuple(sorted({card.model for card in cards if has_rules(card.provider)}))
