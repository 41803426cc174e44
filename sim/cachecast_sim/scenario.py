"""A scenario: whose rules and prices a log is replayed under."""

from dataclasses import dataclass, field

from cachecast_pricing.model_ids import ModelRef
from cachecast_pricing.moments import When
from cachecast_pricing.rules.settings import RuleSettings


@dataclass(frozen=True, slots=True)
class Scenario:
    """One `--as`. `model` None: each request under its own model (`--as log`).

    `on` is the moment whose prices hold; None: each request's own arrival where the log has
    absolute times, else the newest day of the catalogue. `tier` and `currency` None: the request's
    own service tier, the card's first currency. `regional` None: the regional price holds for
    requests that name a region.
    """

    name: str
    model: ModelRef | None
    settings: RuleSettings = field(default_factory=RuleSettings)
    on: When | None = None
    tier: str | None = None
    currency: str | None = None
    regional: bool | None = None
