"""At which traffic own servers cost what an API would bill."""

from dataclasses import dataclass
from decimal import Decimal

_EXACT = Decimal("1e-9")


@dataclass(frozen=True, slots=True)
class BreakEven:
    """`traffic`: so many times the simulated traffic; None where it is unknown, and `unknown` then
    says why."""

    traffic: Decimal | None
    unknown: str | None = None


def break_even(
    cost: tuple[Decimal, str] | None,
    charge: tuple[Decimal, str] | None,
    *,
    unserved: int,
    unpriced: int,
) -> BreakEven:
    """Where an API bill that grows with the traffic meets the cost of GPUs that run anyway.

    traffic = cost / charge. It takes for granted that the API's bill for k times the requests is k
    times the bill (no volume prices, the same share read from its cache), and that the fleet is
    paid for the same time and can carry k times the requests; only a simulation at that traffic
    (`fleet.traffic`) shows whether it can.
    """
    if cost is None:
        return BreakEven(None, "the fleet names no price of a GPU hour")
    if charge is None:
        return BreakEven(None, "no request has a price at an API")
    if unpriced:
        return BreakEven(None, f"{unpriced:,} requests have no price at the API")
    if unserved:
        return BreakEven(None, f"the fleet leaves {unserved:,} requests unserved")
    if cost[1] != charge[1]:
        return BreakEven(None, f"the fleet costs {cost[1]}, the API bills {charge[1]}")
    if not charge[0]:
        return BreakEven(None, "the API bills nothing for this log")
    return BreakEven((cost[0] / charge[0]).quantize(_EXACT))
