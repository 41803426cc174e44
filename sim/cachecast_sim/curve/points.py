"""At which capacities and lifetimes to look, where nobody said."""

import math
from collections.abc import Sequence
from fractions import Fraction

from cachecast_sim.curve.curves import Curves

# of the ideal: where a person would stop buying
SHARES = (Fraction(1, 2), Fraction(9, 10), Fraction(99, 100), Fraction(1))
_SECOND = 1_000_000
_MINUTE, _HOUR, _DAY = 60 * _SECOND, 3_600 * _SECOND, 86_400 * _SECOND

# lifetimes that caches are run with; the table shows these, and a chart without refresh
LIVES_US: tuple[int, ...] = (
    _SECOND, 2 * _SECOND, 5 * _SECOND, 10 * _SECOND, 30 * _SECOND, _MINUTE, 2 * _MINUTE,
    5 * _MINUTE, 10 * _MINUTE, 30 * _MINUTE, _HOUR, 2 * _HOUR, 4 * _HOUR, 12 * _HOUR, _DAY,
    7 * _DAY,
)  # fmt: skip

_PER_DECADE = 24  # points of a chart
_LEAST_GAIN = Fraction(1, 100)  # of the ideal: a row that adds less says nothing


def table_capacities(curves: Curves) -> list[int]:
    """1, 3, 10, 30, … blocks where hits grow, and where the shares of SHARES are reached."""
    knees = {found for share in SHARES if (found := curves.capacity_for(share)) is not None}
    if not knees:
        return []
    chosen, last = [], 0.0
    for blocks in sorted(knees.union(f * 10**e for e in range(16) for f in (1, 3))):
        if blocks > max(knees):
            break
        share = curves.at_capacity(blocks).blocks or 0.0
        if blocks in knees or share >= last + float(_LEAST_GAIN) * (curves.ideal.blocks or 0.0):
            chosen.append(blocks)
            last = share
    return chosen


def chart_capacities(curves: Curves) -> list[int]:
    """Evenly on a logarithmic axis, from 1 block to the last change."""
    most = curves.unique_blocks
    decades = math.log10(max(most, 1))
    count = max(1, round(_PER_DECADE * decades))
    even = {round(10 ** (decades * step / count)) for step in range(count + 1)}
    return sorted({1, most, *even, *table_capacities(curves)} - {0})


def table_lives(curves: Curves) -> list[int]:
    """Lifetimes in µs: those of LIVES_US up to the first that gives all of the ideal."""
    last = curves.ttl_for(Fraction(1))
    if last is None:
        return []
    least = curves.ttl_for(_LEAST_GAIN) or 0
    return [life for life in LIVES_US if least <= life < last] + [_next_life(last)]


def chart_lives(curves: Curves) -> list[int]:
    """The same, evenly on a logarithmic axis from a tenth of a second (with refresh only)."""
    last = _next_life(curves.ttl_for(Fraction(1)) or 0)
    start, decades = _SECOND // 10, math.log10(last * 10 / _SECOND)
    count = max(1, round(_PER_DECADE * decades))
    even = {round(start * 10 ** (decades * step / count)) for step in range(count + 1)}
    return sorted({*even, *table_lives(curves)})


def _next_life(age_us: int) -> int:
    """The first of LIVES_US that is as long, else the next whole week."""
    return next((life for life in LIVES_US if life >= age_us), -(-age_us // (7 * _DAY)) * 7 * _DAY)


def merged(*points: Sequence[int]) -> list[int]:
    """All of them, each once, rising."""
    return sorted(set().union(*points))
