"""Sums of counts times decimal seconds, in whole nanoseconds without rounding on the way."""

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from math import lcm

NS_PER_S = 10**9


def over_one_denominator(seconds: Sequence[Decimal]) -> tuple[list[int], int]:
    """Numerators of the values in nanoseconds, and their least common denominator.

    A sum of whole multiples of the numerators is exact; `rounded` ends it.
    """
    values = [Fraction(value) * NS_PER_S for value in seconds]
    denominator = lcm(*(value.denominator for value in values))
    return [int(value * denominator) for value in values], denominator


def rounded(numerator: int, denominator: int) -> int:
    """The nearest whole number of nanoseconds, halves upwards, and at least 1: time must pass."""
    return max(1, (2 * numerator + denominator) // (2 * denominator))
