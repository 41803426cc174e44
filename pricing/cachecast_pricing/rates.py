"""Rate cards: what one model costs per token class, by prompt size, service tier and hour."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class ClassPrices:
    """Integer picounits for one token of each class; None means no price, never free."""

    fresh: int | None = None
    cache_read: int | None = None
    cache_write_5m: int | None = None
    cache_write_30m: int | None = None
    cache_write_1h: int | None = None
    cache_write_12h: int | None = None
    output: int | None = None
    storage: int | None = None
    currency: str = "USD"


@dataclass(frozen=True, slots=True)
class Threshold:
    """Where a long-context price starts: the prompt is `operator` than `tokens`."""

    tokens: int
    operator: str


class RateCard:
    """The prices of one model in one validity period."""

    provider: str
    model: str
    currency: str
    valid_from: datetime | None
    valid_to: datetime | None
    service_tiers: tuple[str, ...]
    has_peak: bool

    def thresholds(self) -> tuple[Threshold, ...]:
        """Long-context thresholds, ascending."""
        raise NotImplementedError

    def prices(
        self, prompt_tokens: int, *, tier: str = "standard", peak: bool = False,
        regional: bool = False,
    ) -> ClassPrices:  # fmt: skip
        """The prices that a request of this prompt size pays for all of its tokens."""
        raise NotImplementedError

    def is_peak(self, at: datetime) -> bool:
        """Whether `at` lies in the provider's peak hours."""
        raise NotImplementedError
