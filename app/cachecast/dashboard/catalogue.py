"""The price catalogue, loaded once, and the scenarios that a person may choose from."""

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # imported when prices are read: it takes a while, and the server waits for us
    from cachecast_pricing.catalog import Catalog

OWN_MODELS = "log"  # `--as log`: each request under its own model


@cache
def catalogue() -> "Catalog":
    """The catalogue that ships."""
    from cachecast_pricing.catalog import load_catalog

    return load_catalog()


@cache
def models() -> tuple[str, ...]:
    """Models whose caches `bill` can simulate, by name."""
    from cachecast_pricing.rules.families import has_rules

    cards = catalogue().rows()
    return tuple(sorted({card.model for card in cards if has_rules(card.provider)}))
