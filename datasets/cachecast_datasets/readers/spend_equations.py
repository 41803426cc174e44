"""Cache classes that a source hides in its cost field: solved where there is one solution.

Prices come from the log itself (a row's own price table), never from a catalogue.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

_MOST_STEPS = 4096  # solutions looked at; two are already too many


class Hidden(NamedTuple):
    """What a cost says about a prompt that reports no writes."""

    read: int
    write: int
    lifetime: str | None  # 5m, 1h, or None where the price of a write says nothing of it


@dataclass(frozen=True, slots=True)
class TokenPrices:
    """Prices of one token; None where the table has no such price."""

    fresh: Fraction
    output: Fraction
    read: Fraction | None = None
    write_5m: Fraction | None = None
    write_1h: Fraction | None = None

    def writes(self) -> Iterable[tuple[str, Fraction]]:
        """The lifetimes with a price."""
        for name, price in (("5m", self.write_5m), ("1h", self.write_1h)):
            if price is not None:
                yield name, price


def hidden_writes(
    prompt: int, read: int | None, output: int, cost: Decimal, prices: TokenPrices
) -> Hidden | None:
    """The one way to split an inclusive `prompt` so that it costs `cost`; None if none or several.

    `read` None means that reads are hidden, too. None also where nothing is hidden.
    """
    found: set[Hidden] = set()
    extra = Fraction(cost) - prompt * prices.fresh - output * prices.output
    if read is not None and prices.read is not None:
        extra -= read * (prices.read - prices.fresh)
    for lifetime, price in prices.writes():
        premium = price - prices.fresh
        if premium == 0:
            return None
        if read is None:
            if prices.read is None or prices.read >= prices.fresh:
                return None
            found |= set(_both(prompt, extra, premium, prices.fresh - prices.read, lifetime))
        else:
            found |= set(_writes(prompt - read, read, extra, premium, lifetime))
    # without a write nothing was hidden, and 0 tokens have no lifetime
    if any(one.write == 0 for one in found) or len(found) != 1:
        return None
    return found.pop()


def _writes(
    most: int, read: int, extra: Fraction, premium: Fraction, lifetime: str
) -> Iterable[Hidden]:
    tokens = extra / premium
    nearest = round(tokens)
    if abs(tokens - nearest) < Fraction(1, 1000) and 0 <= nearest <= most:
        yield Hidden(read, nearest, lifetime)


def _both(
    prompt: int, extra: Fraction, premium: Fraction, saving: Fraction, lifetime: str
) -> Iterable[Hidden]:
    """All splits with premium x write - saving x read = extra."""
    found = 0
    low = max(Fraction(0), extra / premium)
    high = (extra + saving * prompt) / (premium + saving)  # read + write = prompt
    write = -(-low.numerator // low.denominator)
    for tokens in range(write, min(write + _MOST_STEPS, int(high) + 1)):
        read = (premium * tokens - extra) / saving
        nearest = round(read)
        if abs(read - nearest) < Fraction(1, 1000) and 0 <= nearest <= prompt - tokens:
            yield Hidden(nearest, tokens, lifetime)
            found += 1
            if found == 2:
                return
    if int(high) + 1 > write + _MOST_STEPS:  # the rest was not looked at: not known to be one
        yield Hidden(0, 0, None)
