"""A quote line by line: each token class with its price and what its tokens cost."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from cachecast_pricing.money import decimal_string, per_mtok_string
from cachecast_pricing.rates import ClassPrices
from cachecast_pricing.usage import CLASSES, Usage


class Line(NamedTuple):
    """One class: tokens, picounits for one of them (None: no price) and for all of them.

    `dearest` is set for written tokens of unknown lifetime: the highest price they may have.
    """

    name: str
    tokens: int
    price: int | None
    dearest: int | None
    amount: int

    def as_json(self) -> dict[str, Any]:
        """The line with prices per million tokens."""
        return {
            "class": self.name,
            "tokens": self.tokens,
            "per_mtok": per_mtok_string(self.price),
            "per_mtok_high": per_mtok_string(self.dearest),
            "charge": decimal_string(self.amount),
        }


def lines_of(usage: Usage, prices: ClassPrices) -> list[Line]:
    """The classes that have tokens or a price, in the order of the contract."""
    lines = []
    for name in CLASSES:
        tokens: int = getattr(usage, name)
        dearest: int | None = None
        if name == "cache_write_unknown":
            price = min(prices.write_prices, default=None)
            dearest = max(prices.write_prices, default=None)
            if not tokens:
                continue
        else:
            price = getattr(prices, name)
        if tokens or price is not None:
            lines.append(Line(name, tokens, price, dearest, tokens * (price or 0)))
    return lines


def together(parts: Iterable[Iterable[Line]]) -> tuple[Line, ...]:
    """The lines of several requests; equal classes at equal prices become one."""
    sums: dict[tuple[str, int | None, int | None], Line] = {}
    for line in (line for lines in parts for line in lines):
        key = (line.name, line.price, line.dearest)
        known = sums.get(key)
        sums[key] = line if known is None else known._replace(
            tokens=known.tokens + line.tokens, amount=known.amount + line.amount
        )  # fmt: skip
    return tuple(sorted(sums.values(), key=lambda line: CLASSES.index(line.name)))
