"""What a usage costs at given prices, class by class, to the picounit."""

from collections.abc import Sequence, Set
from fractions import Fraction
from typing import NamedTuple

from cachecast_datasets.errors import BadInput
from cachecast_pricing.rates import ClassPrices
from cachecast_pricing.usage import Usage

_US_PER_HOUR = 3_600_000_000


class NoPrice(BadInput):
    """Tokens of a class for which the rate card states no price."""


class Charge(NamedTuple):
    """An amount by class in picounits; `low == high == total` when nothing is uncertain.

    A named tuple because one is made for every request and scenario.
    """

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


def sum_of(charges: Sequence[Charge]) -> Charge:
    """One or more charges as one, class by class. Raises BadInput for two currencies."""
    first, *others = charges
    for other in others:
        if other.currency != first.currency:
            raise BadInput(f"cannot add {first.currency} and {other.currency}")
    amounts = zip(*(one[1:] for one in charges), strict=True)
    return Charge(first.currency, *map(sum, amounts)) if others else first


def charge(usage: Usage, prices: ClassPrices) -> Charge:
    """The charge of one request at the prices that hold for its prompt size.

    Written tokens of unknown lifetime are charged at the cheapest write price there is (the
    default lifetime), and the interval reaches up to the dearest. Raises NoPrice for tokens of a
    class without a price.
    """
    fresh = _of(usage.fresh, prices.fresh, "fresh")
    cache_read = _of(usage.cache_read, prices.cache_read, "cache_read")
    output = _of(usage.output, prices.output, "output")
    currency = prices.currency
    if not usage.cache_write:
        total = fresh + cache_read + output
        return Charge(currency, fresh, cache_read, 0, output, 0, total, total)
    known_writes = (
        _of(usage.cache_write_5m, prices.cache_write_5m, "cache_write_5m")
        + _of(usage.cache_write_30m, prices.cache_write_30m, "cache_write_30m")
        + _of(usage.cache_write_1h, prices.cache_write_1h, "cache_write_1h")
        + _of(usage.cache_write_12h, prices.cache_write_12h, "cache_write_12h")
    )
    cheapest = dearest = 0
    if usage.cache_write_unknown:
        writes = prices.write_prices
        cheapest = _of(usage.cache_write_unknown, min(writes, default=None), "cache_write_unknown")
        dearest = usage.cache_write_unknown * max(writes)
    written = known_writes + cheapest
    total = fresh + cache_read + written + output
    high = total - cheapest + dearest
    return Charge(currency, fresh, cache_read, written, output, 0, total, high)


def unknown_bounds(
    usage: Usage, charged: Charge, prices: ClassPrices, unknown: Set[str], *, inclusive: bool
) -> tuple[int, int | None]:  # fmt: skip
    """The least and the most, in picounits, that a usage with unknown classes can cost.

    `charged` is the charge of `usage` at `prices`; `unknown` are of fresh, cache_read, cache_write
    and output. In an inclusive object the unknown tokens are part of `usage.fresh`: each may have
    been read, written or neither. Beside an additive one there may be any number more, and of an
    unknown input or output, too: then there is no limit (None).
    """
    if not unknown:
        return charged.low, charged.high
    if not inclusive or unknown & {"fresh", "output"}:
        return charged.low, None
    possible = [prices.fresh]
    if "cache_read" in unknown:
        possible.append(prices.cache_read)
    if "cache_write" in unknown:
        possible += prices.write_prices
    priced = [price for price in possible if price is not None]
    if not priced:
        return charged.low, charged.high  # no fresh price: then there are no fresh tokens either
    return (
        charged.low - charged.fresh + usage.fresh * min(priced),
        charged.high - charged.fresh + usage.fresh * max(priced),
    )


def without_cache(usage: Usage, prices: ClassPrices) -> int:
    """Picounits with every prompt token at the plain input price, plus the output."""
    return _of(usage.prompt_tokens, prices.fresh, "fresh") + _of(
        usage.output, prices.output, "output"
    )


def storage_charge(tokens: int, lifetime_us: int, prices: ClassPrices) -> int:
    """Picounits for keeping `tokens` in an explicit cache for its actual lifetime.

    Prorated, not by started hours; rounded half to even to a picounit. Raises NoPrice where the
    card has no storage price. Rule: ai.google.dev caching page, 2026-09.
    """
    if prices.storage is None:
        raise NoPrice("the rate card has no storage price")
    return round(Fraction(tokens * prices.storage * lifetime_us, _US_PER_HOUR))


def _of(tokens: int, price: int | None, name: str) -> int:
    """Tokens times price; a class without tokens needs no price."""
    if not tokens:
        return 0
    if price is None:
        raise NoPrice(f"no {name} price, but the usage has {tokens} {name} tokens")
    return tokens * price
