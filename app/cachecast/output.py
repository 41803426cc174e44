"""Printing: rows on stdout, notes on stderr, one form for money and tokens everywhere."""

import sys
from decimal import Decimal
from typing import Any

import msgspec
from rich.console import Console
from rich.table import Table

notes = Console(stderr=True, highlight=False)


def print_json(value: Any) -> None:
    """One JSON document on stdout, indented."""
    text = msgspec.json.format(msgspec.json.encode(value), indent=2)
    sys.stdout.write(text.decode() + "\n")


def print_json_line(value: Any) -> None:
    """One JSON value on one line of stdout."""
    sys.stdout.write(msgspec.json.encode(value).decode() + "\n")


def print_table(table: Table) -> None:
    """A table on stdout, as wide as the terminal (or 120 columns where there is none)."""
    width = None if sys.stdout.isatty() else 120
    Console(file=sys.stdout, width=width, highlight=False).print(table)


def tokens(count: int | None) -> str:
    """12,345 with thin grouping; `unknown` for None."""
    return "unknown" if count is None else f"{count:,}"


def money(amount: Decimal | str | None, currency: str) -> str:
    """An amount with its currency and sensible digits, never 0.00 for a real amount."""
    if amount is None:
        return "no price"
    value = Decimal(amount)
    sign = {"USD": "$", "CNY": "¥"}.get(currency, currency + " ")
    if value == 0:
        return f"{sign}0"
    places = 2 if abs(value) >= 1 else min(12, 1 - value.adjusted() + 1)
    text = f"{abs(value):,.{places}f}"
    return f"{'-' if value < 0 else ''}{sign}{text}"


def share(part: float | None) -> str:
    """A ratio as a percentage with one decimal; `–` where there is nothing to divide by."""
    return "–" if part is None else f"{100 * part:.1f} %"
