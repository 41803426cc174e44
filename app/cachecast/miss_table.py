"""Why prompt tokens were not read, as a table: one scenario in detail, or several side by side."""

from collections.abc import Iterator, Sequence

from rich import box
from rich.markup import escape
from rich.table import Table

from cachecast.billing import Bill
from cachecast.output import money_column, share, tokens
from cachecast_pricing.money import to_decimal
from cachecast_sim.totals import ReasonTotal, Totals

_NARROW_CHARACTERS = 11  # of a scenario's name a line, and of an amount
_TITLE = "Why prompt tokens were not read: cost above the read price"


def _table(with_avoidable: bool = True) -> Table:
    table = Table(title=_TITLE, title_justify="left", header_style="bold", box=box.SIMPLE_HEAD)
    table.add_column("reason", no_wrap=True)
    if with_avoidable:
        table.add_column("avoidable", no_wrap=True)
    return table


def _yes_no(avoidable: bool) -> str:
    return "yes" if avoidable else "no"


def misses_of_one(bill: Bill) -> Iterator[Table]:
    """Requests, tokens and money of each reason; without the counts on a narrow terminal."""
    totals = bill.totals
    reasons = totals.misses_by_cost()
    costs = _money(totals, [*(r.cost for r in reasons), totals.avoidable_cost])
    for columns in (("requests", "tokens", "cost", "of the charge"), ("tokens", "cost")):
        table = _table()
        for title in columns:
            table.add_column(title, justify="right", no_wrap=True)
        for reason, cost in zip(reasons, costs, strict=False):
            cells = {
                "requests": tokens(reason.requests),
                "tokens": tokens(reason.tokens),
                "cost": cost,
                "of the charge": _share_of_charge(totals, reason.cost),
            }
            name = reason.reason.replace("_", " ")
            table.add_row(name, _yes_no(reason.avoidable), *(cells[c] for c in columns))
        table.add_section()
        last = {"cost": costs[-1], "of the charge": _share_of_charge(totals, totals.avoidable_cost)}
        table.add_row("avoidable in all", "", *(last.get(c, "") for c in columns), style="bold")
        yield table


def misses_compared(bills: Sequence[Bill]) -> Iterator[Table]:
    """Reasons against scenarios, in the order of the first scenario's cost."""
    names = list(dict.fromkeys(r.reason for b in bills for r in b.totals.misses_by_cost()))
    columns = [_costs(bill.totals, names) for bill in bills]
    for narrow in (False, True):
        table = _table(with_avoidable=not narrow)
        for bill in bills:
            table.add_column(
                escape(bill.scenario.name), justify="right", no_wrap=not narrow, overflow="fold",
                max_width=_NARROW_CHARACTERS if narrow else None,
            )  # fmt: skip
        for row, name in enumerate(names):
            found = [b.totals.misses[name] for b in bills if name in b.totals.misses]
            avoidable = _yes_no(any(reason.avoidable for reason in found))
            cells = [column[row] for column in columns]
            table.add_row(name.replace("_", " "), *([] if narrow else [avoidable]), *cells)
        table.add_section()
        last = [column[-1] for column in columns]
        table.add_row("avoidable in all", *([] if narrow else [""]), *last, style="bold")
        yield table


def _costs(totals: Totals, names: Sequence[str]) -> list[str]:
    """A column: the cost of each reason, and of all that is avoidable."""
    found: list[ReasonTotal | None] = [totals.misses.get(name) for name in names]
    texts = _money(totals, [*(None if r is None else r.cost for r in found), totals.avoidable_cost])
    for i, reason in enumerate(found):
        if reason is None:
            texts[i] = "–"
    return texts


def _money(totals: Totals, picounits: Sequence[int | None]) -> list[str]:
    values = [None if p is None or not totals.priced else to_decimal(p) for p in picounits]
    return money_column(values, totals.money.currency or "")


def _share_of_charge(totals: Totals, cost: int | None) -> str:
    total = totals.money.total
    return share(cost / total) if cost is not None and total else "–"
