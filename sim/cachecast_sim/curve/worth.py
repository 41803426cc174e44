"""What a hit is worth: the price of an input token that is read from a cache instead."""

from dataclasses import dataclass
from datetime import UTC, datetime

from cachecast_datasets.errors import BadInput
from cachecast_pricing.catalog import Catalog
from cachecast_pricing.money import per_mtok_string
from cachecast_pricing.rates import STANDARD, RateCard
from cachecast_pricing.rules.settings import RuleSettings
from cachecast_sim.scenario import Scenario


@dataclass(frozen=True, slots=True)
class TokenWorth:
    """Integer picounits for one token: read from no cache (`fresh`), and from one (`read`)."""

    name: str  # of the scenario
    currency: str
    fresh: int
    read: int
    assumptions: tuple[str, ...]

    def saved(self, hit_tokens: int) -> int:
        """Picounits that so many hit tokens save."""
        return hit_tokens * (self.fresh - self.read)


def token_worth(scenario: Scenario, catalog: Catalog) -> TokenWorth:
    """The worth of a hit token at a model's prices: input less read, of a short prompt.

    BadInput for `--as log`, for keys of cache rules (a curve follows none), and where the model has
    no input or read price.
    """
    where = f"--as {scenario.name}"
    if scenario.model is None:
        raise BadInput(f"{where}: expected one model, whose prices each hit is worth")
    if scenario.settings != RuleSettings():
        raise BadInput(
            f"{where}: a curve follows no provider's cache rules, expected no keys but on, tier, "
            "currency and name"
        )
    newest = datetime.combine(catalog.newest, datetime.min.time(), tzinfo=UTC)
    on = newest if scenario.on is None else scenario.on.start
    dated = catalog.card(scenario.model, on, scenario.currency)
    card = dated.card
    exact = scenario.on is not None and not scenario.on.bare
    tier = scenario.tier or STANDARD
    prices = card.prices(0, tier=tier, peak=exact and card.is_peak(on))
    for name, price in (("input", prices.fresh), ("cache read", prices.cache_read)):
        if price is None:
            raise BadInput(f"{where}: {card.provider}/{card.model} has no {name} price ({tier})")
    assert prices.fresh is not None
    assert prices.cache_read is not None
    return TokenWorth(
        scenario.name, prices.currency, prices.fresh, prices.cache_read,
        (_said(card, tier, prices.fresh, prices.cache_read), *_left_out(card, exact), *dated.notes),
    )  # fmt: skip


def _said(card: RateCard, tier: str, fresh: int, read: int) -> str:
    source = f", {card.sources[0]}" if card.sources else ""
    return (
        f"a hit token saves {per_mtok_string(fresh - read)} {card.currency} a million: the "
        f"{tier} input price of {card.provider}/{card.model} ({per_mtok_string(fresh)}) less its "
        f"read price ({per_mtok_string(read)}), read on {card.checked}{source}"
    )


def _left_out(card: RateCard, exact: bool) -> list[str]:
    found = ["what writing into a cache and keeping it cost is not taken off"]
    if card.thresholds():
        limit = card.thresholds()[0].first_tokens
        found.append(f"prompts of {limit:,} tokens or more count at the prices of shorter ones")
    if card.has_peak and not exact:
        found.append("off-peak prices; on=DATETIME names an hour")
    return found
