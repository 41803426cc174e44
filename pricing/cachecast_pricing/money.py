"""Exact money: integer picounits (1e-12 of a currency) inside, Decimal at the edges, no floats."""

from decimal import Decimal, InvalidOperation, localcontext
from fractions import Fraction

from cachecast_datasets.errors import BadInput

PICO = 10**12
# a price per 1e6 tokens times 1e6 is the price of one token in picounits
_PICOUNITS_PER_MTOK_UNIT = 10**6


def decimal_of(text: str | Decimal, what: str = "amount") -> Decimal:
    """The exact value of a plain decimal; BadInput for anything else (NaN, exponents, floats)."""
    if isinstance(text, Decimal):
        value = text
    else:
        try:
            value = Decimal(text)
        except InvalidOperation:
            raise BadInput(f"{what} is {text!r}, expected a decimal number") from None
    if not value.is_finite():
        raise BadInput(f"{what} is {text!s}, expected a finite decimal number")
    return value


def picounits_per_token(price_per_mtok: str | Decimal) -> int:
    """Picounits for one token at a price per million tokens: "0.003625" -> 3625.

    Raises BadInput for a negative price or one with more than 6 decimals (it would be inexact).
    """
    price = decimal_of(price_per_mtok, "price per MTok")
    if price < 0:
        raise BadInput(f"price per MTok is {price}, expected >= 0")
    numerator, denominator = price.as_integer_ratio()
    picounits, rest = divmod(numerator * _PICOUNITS_PER_MTOK_UNIT, denominator)
    if rest:
        raise BadInput(f"price per MTok is {price}, expected at most 6 decimals")
    return picounits


def times(picounits: int, factor: Fraction, what: str) -> int:
    """`picounits` times `factor`; BadInput if the product is not a whole number of picounits."""
    product, rest = divmod(picounits * factor.numerator, factor.denominator)
    if rest:
        raise BadInput(f"{what}: {picounits} picounits times {factor} is not a whole number")
    return product


def to_decimal(picounits: int) -> Decimal:
    """The same amount in whole units of the currency, exact at any size."""
    with localcontext() as context:
        context.prec = len(str(abs(picounits))) + 1
        return Decimal(picounits).scaleb(-12)


def decimal_string(picounits: int) -> str:
    """The amount as a plain decimal: no exponent, no trailing zeros ("0.054399", "12", "0")."""
    whole, part = divmod(abs(picounits), PICO)
    sign = "-" if picounits < 0 else ""
    decimals = f"{part:012d}".rstrip("0")
    return f"{sign}{whole}.{decimals}" if decimals else f"{sign}{whole}"


def factor_string(factor: Fraction) -> str:
    """A factor of the catalogue as the decimal it was written as ("1.1")."""
    return format(Decimal(factor.numerator) / Decimal(factor.denominator), "f")


def per_mtok_string(picounits_per_token: int | None) -> str | None:
    """A price of one token, back as the price per million tokens; None where there is no price."""
    if picounits_per_token is None:
        return None
    return decimal_string(picounits_per_token * (PICO // _PICOUNITS_PER_MTOK_UNIT))
