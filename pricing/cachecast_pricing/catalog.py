"""The rate-card catalogue: which model a name means, and its prices on a day."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path

from cachecast_pricing.model_ids import ModelRef
from cachecast_pricing.rates import RateCard


@dataclass(frozen=True, slots=True)
class DatedCard:
    """A rate card for a day, with what should be said about that date."""

    card: RateCard
    notes: tuple[str, ...]


class Catalog:
    """All rate cards; `newest` is the latest day on which one of them was read."""

    newest: date

    def resolve(self, name: str, provider: str | None = None) -> ModelRef:
        """The model that a person named; UnknownModel lists close names."""
        raise NotImplementedError

    def find(self, name: str | None, provider: str | None = None) -> ModelRef | None:
        """The model that a log names, or None."""
        raise NotImplementedError

    def card(self, ref: ModelRef, on: datetime) -> DatedCard:
        """The card of a day; BadInput outside the validity that the sources state."""
        raise NotImplementedError

    def rows(self) -> Sequence[RateCard]:
        """Every card of the catalogue, by provider, model and validity."""
        raise NotImplementedError


def load_catalog(overrides: Path | None = None) -> Catalog:
    """The shipped catalogue, with negotiated prices of the same TOML shape laid over it."""
    raise NotImplementedError
