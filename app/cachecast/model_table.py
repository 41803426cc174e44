"""The price list as a table that fits: fewer columns on a narrow terminal, nothing cut off."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from rich import box
from rich.markup import escape
from rich.table import Table

Row = dict[str, Any]
Column = tuple[str, bool, Callable[[Row], str]]  # title, right-justified, cell

_EXPLAINED = {
    "bill": "bill: cachecast bill can simulate its cache",
    "more": "more: L a long-context price, P peak hours, T other service tiers (in --json)",
}
_NARROW_IDS = 29  # longer ids go on in the next line


def model_tables(rows: Sequence[Row]) -> list[Table]:
    """The rows as tables, the widest first; each has fewer columns, the prices always stay."""
    narrow = partial(_table, rows, _stacked())
    return [
        _table(rows, _wide()),
        narrow(),
        narrow(without=("read on",)),
        narrow(without=("read on", "more")),
        narrow(without=("read on", "more"), widest=_NARROW_IDS),
        narrow(without=("read on", "more", "bill"), widest=_NARROW_IDS),
    ]


def _table(
    rows: Sequence[Row], columns: Sequence[Column], without: Sequence[str] = (),
    widest: int | None = None,
) -> Table:  # fmt: skip
    currencies = " and ".join(dict.fromkeys(row["currency"] for row in rows))
    shown = [column for column in columns if column[0] not in without]
    explained = [_EXPLAINED[title] for title, _, _ in shown if title in _EXPLAINED]
    table = Table(
        title=f"standard prices in {currencies} per million tokens", title_justify="left",
        caption="; ".join([*explained, "sources and other prices: --json"]),
        caption_justify="left", header_style="bold", box=box.SIMPLE_HEAD,
    )  # fmt: skip
    for title, right, _ in shown:
        if title == "model":
            table.add_column(title, overflow="fold", max_width=widest)
        else:
            table.add_column(title, justify="right" if right else "left", no_wrap=True)
    for row in rows:
        table.add_row(*(cell(row) for _, _, cell in shown))
    return table


def _wide() -> list[Column]:
    """One line for each row."""
    return [
        ("model", False, _id),
        ("valid", False, lambda row: " ".join(_validity(row))),
        ("currency", False, lambda row: str(row["currency"])),
        *_priced(", "),
    ]


def _stacked() -> list[Column]:
    """Dates, a currency that is not USD and write prices one below the other."""
    return [("model", False, _id_and_dates), *_priced("\n")]


def _priced(between: str) -> list[Column]:
    return [
        ("input", True, partial(_price, name="fresh")),
        ("read", True, partial(_price, name="cache_read")),
        ("write", True, partial(_writes, between=between)),
        ("output", True, partial(_price, name="output")),
        ("bill", False, lambda row: "yes" if row["cache_rules"] else "no"),
        ("more", False, _more),
        ("read on", False, lambda row: str(row["checked"])),
    ]


def _id(row: Row) -> str:
    return escape(f"{row['provider']}/{row['model']}")


def _id_and_dates(row: Row) -> str:
    currency = [] if row["currency"] == "USD" else [f"in {row['currency']}"]
    return "\n  ".join([_id(row), *_validity(row), *currency])


def _price(row: Row, name: str) -> str:
    price: str | None = row["prices"]["standard"][name]
    return price or "–"


def _writes(row: Row, between: str) -> str:
    """Each write price that there is, with its lifetime."""
    found = [
        f"{price} {name.removeprefix('cache_write_')}"
        for name, price in row["prices"]["standard"].items()
        if name.startswith("cache_write_") and price is not None
    ]
    return between.join(found) or "–"


def _validity(row: Row) -> list[str]:
    """As far as the source states it; the end is the first moment without this price."""
    start, end = row["valid_from"], row["valid_to"]
    return [f"from {start}"] * bool(start) + [f"before {end}"] * bool(end)


def _more(row: Row) -> str:
    """Which other prices the model has."""
    marks = {
        "L": bool(row["long_context"]),
        "P": row["peak_prices"] is not None,
        "T": len(row["prices"]) > 1,
    }
    return " ".join(mark for mark, there in marks.items() if there)
