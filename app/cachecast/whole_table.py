"""Tables that lose nothing: as wide as their content in a file, fitted by columns on a terminal."""

import sys
from collections.abc import Callable

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table

_NO_LIMIT = 10_000


def terminal_width() -> int | None:
    """Columns of the terminal on stdout; None where stdout is a file or a pipe."""
    return Console(file=sys.stdout).width if sys.stdout.isatty() else None


def width_of(table: Table) -> int:
    """Columns that the table takes if nothing in it is cut or wrapped."""
    return _measured(table).maximum


def _measured(table: Table) -> Measurement:
    console = Console(width=_NO_LIMIT)
    return Measurement.get(console, console.options, table)


def fitting(choices: list[Callable[[], Table]], width: int | None) -> Table:
    """The first of these tables that fits into `width`, else the last one."""
    for make in choices[:-1]:
        table = make()
        if width is None or width_of(table) <= width:
            return table
    return choices[-1]()


def print_whole(table: Table) -> None:
    """The table on stdout; what is no terminal has no width that it would have to fit.

    A terminal too narrow for it gets long lines, which it wraps: nothing is left out.
    """
    width = max(terminal_width() or _NO_LIMIT, _measured(table).minimum)
    Console(file=sys.stdout, width=width, highlight=False, markup=False).print(table)
