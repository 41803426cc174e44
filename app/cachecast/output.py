"""Printing: rows on stdout, notes on stderr, one form for money and tokens everywhere."""

import contextlib
import sys
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import msgspec

# never broken into lines: a command in a note is there to be copied
if TYPE_CHECKING:  # imported when something is printed: rich takes as long as a small log
    from rich.console import Console
    from rich.table import Table


class _Notes:
    """Notes on stderr; on a terminal through a rich console, made for the first of them."""

    def __init__(self) -> None:
        self._console: Console | None = None

    @property
    def console(self) -> "Console":
        if self._console is None:
            from rich.console import Console

            self._console = Console(stderr=True, highlight=False, soft_wrap=True)
        return self._console

    @property
    def is_terminal(self) -> bool:
        """Whether a person may be watching."""
        return sys.stderr.isatty() and self.console.is_terminal

    def print(self, text: str, *, style: str | None = None, **options: Any) -> None:
        """One note, with rich's own options. It is never read as markup: it may name a file."""
        if sys.stderr.isatty():
            self.console.print(text, style=style, **{"markup": False, **options})
        else:
            sys.stderr.write(text + "\n")


notes = _Notes()


class ReaderLeft(Exception):
    """Whoever read the output went away; the exit code that was found stands: `args[0]`."""


@contextlib.contextmanager
def verdict(code: int) -> Iterator[None]:
    """Printing what is inside cannot change the exit code, which is an answer by itself."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        raise ReaderLeft(code) from None


def print_json(value: Any) -> None:
    """One JSON document on stdout, indented."""
    text = msgspec.json.format(_encoded(value), indent=2)
    sys.stdout.write(text.decode() + "\n")


def json_line(value: Any) -> str:
    """One JSON value on one line."""
    return _encoded(value).decode() + "\n"


def _encoded(value: Any) -> bytes:
    """JSON, in which a name of a file that is no UTF-8 has \\udcff for its byte 0xff."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return msgspec.json.encode(_escaped(value))


def _escaped(value: Any) -> Any:
    if isinstance(value, dict):
        return {_escaped(key): _escaped(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_escaped(inner) for inner in value]
    return value.encode(errors="backslashreplace").decode() if isinstance(value, str) else value


def print_json_line(value: Any) -> None:
    """One JSON value on one line of stdout."""
    sys.stdout.write(json_line(value))


def print_table(*variants: "Table") -> None:
    """The first of the tables that fits the terminal, else the last; widest first.

    A pipe or file gets the first at its natural width. Amounts are never cut: what does not fit a
    narrow terminal is wrapped by it.
    """
    from cachecast.table_console import TableConsole

    console = TableConsole(file=sys.stdout, highlight=False, markup=True)
    chosen, width = variants[0], _natural_width(variants[0])
    if sys.stdout.isatty():
        for table in variants:
            chosen, width = table, _natural_width(table)
            if width <= console.width:
                break
    TableConsole(file=sys.stdout, width=width, highlight=False).print(chosen)


def has_colours() -> bool:
    """Whether a colour in a table is one on the screen too."""
    from rich.console import Console

    console = Console(file=sys.stdout)
    return console.is_terminal and console.color_system is not None and not console.no_color


def _natural_width(table: "Table") -> int:
    from rich.console import Console
    from rich.measure import Measurement

    wide = Console(width=10_000)
    return max(Measurement.get(wide, wide.options, table).maximum, len(str(table.title or "")))


def tokens(count: int | None) -> str:
    """12,345 with thin grouping; `unknown` for None."""
    return "unknown" if count is None else f"{count:,}"


def counted(number: int, what: str) -> str:
    """`1 request`, `2,000 requests`."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


_SIGNS = {"USD": "$", "CNY": "¥"}
# significant digits: of an amount alone, and of the smallest in a column
_DIGITS_ALONE, _DIGITS_IN_COLUMN = 3, 2


def money(amount: Decimal | str | None, currency: str) -> str:
    """An amount with its currency and sensible digits, never 0.00 for a real amount."""
    return money_column([amount], currency)[0]


def money_column(amounts: Sequence[Decimal | str | None], currency: str) -> list[str]:
    """Amounts for one column: as many decimals for all as the smallest of them needs."""
    values = [None if amount is None else Decimal(amount) for amount in amounts]
    digits = _DIGITS_ALONE if len(values) == 1 else _DIGITS_IN_COLUMN
    needed = [digits - 1 - v.adjusted() for v in values if v]
    places = min(12, max([2, *needed]))
    sign = _SIGNS.get(currency, currency + " ")
    return ["no price" if v is None else _signed(v, sign, places) for v in values]


def _signed(value: Decimal, sign: str, places: int) -> str:
    if value == 0:
        return f"{sign}0"
    return f"{'-' if value < 0 else ''}{sign}{abs(value):,.{places}f}"


def share(part: float | None) -> str:
    """A ratio as a percentage with one decimal; `–` where there is nothing to divide by."""
    return "–" if part is None else f"{100 * part:.1f} %"
