"""Tables of what was predicted beside what the log reports, and why the two differ."""

from rich import box
from rich.markup import escape
from rich.table import Table

from cachecast.billing import Bill
from cachecast.output import counted, money_column, tokens
from cachecast_pricing.money import to_decimal


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", header_style="bold", box=box.SIMPLE_HEAD)
    for number, name in enumerate(columns):
        table.add_column(name, justify="right" if number else "left", no_wrap=True)
    return table


def observed_table(bill: Bill) -> Table:
    """Tokens by class: predicted, observed, and the difference."""
    seen = bill.totals.observed
    assert seen is not None
    requests = counted(seen.requests, "request")
    title = f"{escape(bill.scenario.name)}: predicted against observed, {requests}"
    table = _table(title, "tokens", "predicted", "observed", "predicted − observed")
    for kind, difference in seen.difference().items():
        if seen.predicted[kind] or seen.observed[kind] != 0:
            off = "unknown" if difference is None else f"{difference:+,}"
            predicted, observed = tokens(seen.predicted[kind]), tokens(seen.observed[kind])
            table.add_row(kind.replace("_", " "), predicted, observed, off)
    return table


def gap_table(bill: Bill) -> Table:
    """Why they differ: the tokens sum to the difference of the read tokens."""
    causes = bill.totals.gaps.causes()
    title = f"{escape(bill.scenario.name)}: why, as predicted − observed"
    table = _table(title, "cause", "requests", "read tokens", "charge")
    costs = [None if gap.cost is None else to_decimal(gap.cost) for gap in causes]
    currency = bill.totals.money.currency or ""
    for gap, cost in zip(causes, money_column(costs, currency), strict=True):
        name = gap.cause.replace("_", " ")
        table.add_row(name, f"{gap.requests:,}", f"{gap.tokens:+,}", cost)
    return table
