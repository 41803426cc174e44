"""Exact money: integer picounits (1e-12 of a currency) inside, Decimal at the edges, no floats."""

import re
from decimal import Decimal, localcontext
from fractions import Fraction

from cachecast_datasets.errors import BadInput

PICO = 10**12
# a price per 1e6 tokens times 1e6 is the price of one token in picounits
_PICOUNITS_PER_MTOK_UNIT = 10**6
_MOST_PER_MTOK = 10**6  # beyond any price in any currency; keeps a charge in 64 bits
_MOST_DECIMALS = 6
_MOST_CHARACTERS = 60
_PLAIN = re.compile(r"-?[0-9]+(?:\.(?P<decimals>[0-9]+))?")
# ISO 4217, without funds and metals
_CODES = """
AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BRL BSD BTN BWP BYN
BZD CAD CDF CHF CLP CNY COP CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS
GIP GMD GNF GTQ GYD HKD HNL HTG HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW
KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD
NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB RWF SAR SBD SCR SDG SEK SGD
SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX USD UYU UZS VES
VND VUV WST XAF XCD XCG XOF XPF YER ZAR ZMW ZWG
"""
CURRENCIES = frozenset(_CODES.split())


def decimal_of(text: str | Decimal, what: str = "amount") -> Decimal:
    """The exact value of a plain decimal; BadInput for anything else.

    That is an optional minus, ASCII digits and a point: no exponent, no space, no underscore, no
    digit of another script, no NaN.
    """
    if isinstance(text, str):
        if len(text) > _MOST_CHARACTERS or not _PLAIN.fullmatch(text):
            cut = text if len(text) <= _MOST_CHARACTERS else text[: _MOST_CHARACTERS - 3] + "..."
            raise BadInput(f"{what} is {cut!r}, expected a plain decimal number, as 0.25")
        return Decimal(text)
    if not text.is_finite():
        raise BadInput(f"{what} is {text!s}, expected a finite decimal number")
    return text


def picounits_per_token(price_per_mtok: str | Decimal) -> int:
    """Picounits for one token at a price per million tokens: "0.003625" -> 3625.

    Raises BadInput for a negative price or one with more than 6 decimals (it would be inexact).
    """
    price = decimal_of(price_per_mtok, "price per MTok")
    if price < 0:
        raise BadInput(f"price per MTok is {price}, expected >= 0")
    if price > _MOST_PER_MTOK:
        raise BadInput(f"price per MTok is {price}, expected at most {_MOST_PER_MTOK}")
    numerator, denominator = price.as_integer_ratio()
    picounits, rest = divmod(numerator * _PICOUNITS_PER_MTOK_UNIT, denominator)
    plain = _PLAIN.fullmatch(price_per_mtok) if isinstance(price_per_mtok, str) else None
    if rest or (plain is not None and len(plain["decimals"] or "") > _MOST_DECIMALS):
        raise BadInput(f"price per MTok is {price}, expected at most {_MOST_DECIMALS} decimals")
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
