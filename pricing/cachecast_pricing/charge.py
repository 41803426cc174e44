"""What a usage costs at given prices, class by class, to the picounit."""

from dataclasses import dataclass

from cachecast_datasets.errors import BadInput

from cachecast_pricing.rates import ClassPrices
from cachecast_pricing.usage import Usage


class NoPrice(BadInput):
    """Tokens of a class for which the rate card states no price."""


@dataclass(frozen=True, slots=True)
class Charge:
    """An amount by class in picounits; `low == high == total` when nothing is uncertain."""

    currency: str
    fresh: int
    cache_read: int
    cache_write: int
    output: int
    storage: int
    low: int
    high: int

    @property
    def total(self) -> int:
        """The sum of all classes."""
        return self.fresh + self.cache_read + self.cache_write + self.output + self.storage


def charge(usage: Usage, prices: ClassPrices) -> Charge:
    """The charge of one request; written tokens of unknown lifetime make an interval."""
    raise NotImplementedError


def without_cache(usage: Usage, prices: ClassPrices) -> int:
    """Picounits with every prompt token at the plain input price, plus the output."""
    raise NotImplementedError
