"""Cache writes that OpenRouter's records leave out, told from what they charged.

charge + cache_discount = prompt x P + output x Q holds whatever was cached, so two records of one
model and host give P and Q. Anthropic's classes are fixed multiples of P: a read saves 0.9 P, a
write costs 0.25 P (5 minutes) or 1 P (1 hour) more. The discount then has one solution, or none.
"""

from collections import defaultdict
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import combinations
from typing import NamedTuple

from cachecast_datasets.readers.spend_equations import TokenPrices, hidden_writes
from cachecast_datasets.request import Observed, Request

_READ, _WRITE_5M, _WRITE_1H = Fraction(1, 10), Fraction(5, 4), Fraction(2)
_ROUNDING = Fraction(1, 10**9)  # USD: how far a charge may be from its own equation
_PAIRS_TRIED = 64


class _Record(NamedTuple):
    request: Request
    charge: Decimal
    discount: Decimal
    stated: bool  # the record has a write class of its own

    @property
    def prompt(self) -> int:
        return self.request.prompt_tokens or 0

    @property
    def plain(self) -> Fraction:
        """What it would have cost without any cache."""
        return Fraction(self.charge) + Fraction(self.discount)


class HiddenWrites:
    """Collects the records of one log; `infer` fills in what their charges tell."""

    def __init__(self) -> None:
        self._groups: dict[tuple[str | None, ...], list[_Record]] = defaultdict(list)
        self._silent = 0

    def add(
        self, request: Request, charge: Decimal | None, discount: Decimal | None, stated: bool
    ) -> None:
        """Take a record in; one whose writes could be hidden loses the class, for now."""
        seen = request.observed
        if seen is None or seen.fresh is None or not _charges_writes(request):
            return
        if charge is None or seen.cost_kind != "provider":
            self._hide(request, stated)
            return
        key = (request.model, request.platform, request.service_tier)
        record = _Record(request, charge, discount or Decimal(0), stated)
        self._groups[key].append(record)
        if discount or seen.cache_read:
            self._hide(request, stated)

    def _hide(self, request: Request, stated: bool) -> None:
        if not stated:
            self._silent += 1
            request.observed = _unknown(request.observed)

    def infer(self) -> list[str]:
        """Fill in every write with one solution. What was inferred and what is left, in words."""
        found, tokens = 0, 0
        for records in self._groups.values():
            prices = _prices(records)
            for record in records if prices is not None else ():
                if record.stated or record.request.observed is None:
                    continue
                if record.request.observed.fresh is not None:
                    continue
                written = _solve(record, prices) if prices is not None else None
                if written is not None:
                    found, tokens = found + 1, tokens + written
        notes = []
        if found:
            notes.append(
                f"cache writes of {found:,} records ({tokens:,} tokens) are inferred from "
                "OpenRouter's charge and cache_discount"
            )
        if self._silent > found:
            notes.append(
                f"cache writes of {self._silent - found:,} records are unknown: their charge has "
                "no single solution"
            )
        return notes


def _charges_writes(request: Request) -> bool:
    return (request.model or "").lower().lstrip("~").startswith(("anthropic/", "claude"))


def _unknown(seen: Observed | None) -> Observed | None:
    none = dict.fromkeys(
        ("fresh", "cache_write_5m", "cache_write_30m", "cache_write_1h", "cache_write_12h",
         "cache_write_unknown")
    )  # fmt: skip
    return None if seen is None else seen._replace(**none)


def _prices(records: Sequence[_Record]) -> TokenPrices | None:
    """P and Q from two records, if every other record agrees."""
    pairs = 0
    for one, other in combinations(records, 2):
        pairs += 1
        if pairs > _PAIRS_TRIED:
            return None
        q1, q2 = one.request.output_tokens or 0, other.request.output_tokens or 0
        determinant = one.prompt * q2 - other.prompt * q1
        if determinant == 0:
            continue
        fresh = (one.plain * q2 - other.plain * q1) / determinant
        output = (one.prompt * other.plain - other.prompt * one.plain) / determinant
        fresh, output = (Fraction(round(p * 10**12), 10**12) for p in (fresh, output))
        if fresh <= 0 or output < 0:
            return None
        if not all(_agrees(record, fresh, output) for record in records):
            return None
        return TokenPrices(fresh, output, fresh * _READ, fresh * _WRITE_5M, fresh * _WRITE_1H)
    return None


def _agrees(record: _Record, fresh: Fraction, output: Fraction) -> bool:
    made = record.prompt * fresh + (record.request.output_tokens or 0) * output
    return abs(made - record.plain) <= _ROUNDING


def _solve(record: _Record, prices: TokenPrices) -> int | None:
    """Fill in the classes; the written tokens, or None without a single solution."""
    request, seen = record.request, record.request.observed
    assert seen is not None
    read, output = seen.cache_read or 0, request.output_tokens or 0
    saved = Fraction(record.discount) - read * prices.fresh * (1 - _READ)
    written, lifetime = 0, "5m"
    if abs(saved) > _ROUNDING:
        hidden = hidden_writes(record.prompt, read, output, record.charge, prices)
        if hidden is None:
            return None
        written, lifetime = hidden.write, hidden.lifetime or "5m"
    request.observed = seen._replace(
        fresh=record.prompt - read - written,
        cache_write_5m=written if lifetime == "5m" else 0,
        cache_write_1h=written if lifetime == "1h" else 0,
        cache_write_30m=0,
        cache_write_12h=0,
        cache_write_unknown=0,
    )
    return written
