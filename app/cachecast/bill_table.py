"""Bills as tables a person reads at a glance."""

from collections.abc import Sequence

from rich.table import Table

from cachecast.billing import Bill
from cachecast.output import money, notes, print_table, share, tokens
from cachecast_pricing.money import decimal_string
from cachecast_sim.totals import ReasonTotal, Totals

_MOST_GROUPS = 40
_MOST_ASSUMPTIONS = 12


def print_bills(bills: Sequence[Bill], by: Sequence[str]) -> None:
    """The comparison, then per scenario why tokens were not read; what is assumed on stderr."""
    print_table(_comparison(bills))
    print_table(_misses(bills))
    for bill in bills:
        if bill.totals.observed is not None:
            print_table(_observed(bill))
        if by:
            print_table(_groups(bill, by))
    _assumptions(bills)


def _amount(totals: Totals, picounits: int) -> str:
    if not totals.priced:
        return "no price"
    return money(decimal_string(picounits), totals.money.currency or "")


def _charge(totals: Totals) -> str:
    text = _amount(totals, totals.money.total)
    low, high = totals.money.low, totals.money.high
    if totals.priced and not low == totals.money.total == high:
        text += f"\n[dim]{_amount(totals, low)} to {_amount(totals, high)}[/]"
    return text + (" *" if totals.unpriced_requests and totals.priced else "")


def _saving(totals: Totals) -> str:
    plain = totals.money.without_cache
    text = _amount(totals, totals.net_saving)
    return f"{text} ({share(totals.net_saving / plain)})" if totals.priced and plain else text


def _money_columns(table: Table) -> None:
    for title in ("prompt tokens", "read", "written", "fresh", "charge", "no cache", "saved"):
        table.add_column(title, justify="right", no_wrap=title != "saved")


def _money_cells(totals: Totals) -> list[str]:
    usage = totals.usage
    prompt = totals.prompt_tokens
    written = usage.cache_write / prompt if prompt else None
    fresh = usage.fresh / prompt if prompt else None
    return [
        tokens(prompt), share(totals.token_hit_ratio), share(written), share(fresh),
        _charge(totals), _amount(totals, totals.money.without_cache), _saving(totals),
    ]  # fmt: skip


def _comparison(bills: Sequence[Bill]) -> Table:
    requests = bills[0].totals.requests
    table = Table(title=f"{requests:,} requests", title_justify="left", header_style="bold")
    table.add_column("scenario", overflow="fold")
    _money_columns(table)
    cheapest = min((b.totals.money.total for b in bills if b.totals.priced), default=None)
    for bill in bills:
        best = len(bills) > 1 and bill.totals.priced and bill.totals.money.total == cheapest
        table.add_row(
            bill.scenario.name, *_money_cells(bill.totals), style="bold green" if best else None
        )
    return table


def _misses(bills: Sequence[Bill]) -> Table:
    return _misses_of_one(bills[0]) if len(bills) == 1 else _misses_compared(bills)


def _miss_table(title: str) -> Table:
    table = Table(title=title, title_justify="left", header_style="bold")
    table.add_column("reason")
    table.add_column("avoidable")
    return table


def _misses_of_one(bill: Bill) -> Table:
    table = _miss_table("Why prompt tokens were not read, and what that cost above the read price")
    for title in ("requests", "tokens", "cost", "of the charge"):
        table.add_column(title, justify="right")
    for reason in bill.totals.misses_by_cost():
        table.add_row(*_reason_cells(bill.totals, reason))
    return table


def _misses_compared(bills: Sequence[Bill]) -> Table:
    """Reasons against scenarios; the order is that of the dearest cell in each row."""
    table = _miss_table("Why prompt tokens were not read: cost above the read price")
    for bill in bills:
        table.add_column(bill.scenario.name, justify="right", overflow="fold")
    shares: dict[str, float] = {}
    for bill in bills:
        for reason in bill.totals.misses.values():
            share_of_it = (reason.cost or 0) / (bill.totals.money.total or 1)
            shares[reason.reason] = max(share_of_it, shares.get(reason.reason, 0.0))
    for name in sorted(shares, key=lambda reason: (-shares[reason], reason)):
        found = [bill.totals.misses.get(name) for bill in bills]
        avoidable = any(reason is not None and reason.avoidable for reason in found)
        cells = [_cost(b.totals, r) for b, r in zip(bills, found, strict=True)]
        table.add_row(name.replace("_", " "), "yes" if avoidable else "", *cells)
    return table


def _cost(totals: Totals, reason: ReasonTotal | None) -> str:
    if reason is None:
        return "–"
    if reason.cost is None or not totals.priced:
        return f"no price\n[dim]{tokens(reason.tokens)} tokens[/]"
    return _amount(totals, reason.cost)


def _reason_cells(totals: Totals, reason: ReasonTotal) -> list[str]:
    total = totals.money.total
    known = reason.cost is not None and totals.priced
    return [
        reason.reason.replace("_", " "),
        "yes" if reason.avoidable else "",
        tokens(reason.requests),
        tokens(reason.tokens),
        _amount(totals, reason.cost or 0) if known else "no price",
        share(reason.cost / total) if known and reason.cost is not None and total else "–",
    ]


def _observed(bill: Bill) -> Table:
    seen = bill.totals.observed
    assert seen is not None
    table = Table(
        title=f"{bill.scenario.name}: predicted against observed, {seen.requests:,} requests",
        title_justify="left", header_style="bold",
    )  # fmt: skip
    for title in ("tokens", "predicted", "observed", "predicted − observed"):
        table.add_column(title, justify="left" if title == "tokens" else "right")
    for name, difference in seen.difference().items():
        if seen.predicted[name] or seen.observed[name] != 0:
            off = "unknown" if difference is None else f"{difference:+,}"
            predicted, observed = tokens(seen.predicted[name]), tokens(seen.observed[name])
            table.add_row(name.replace("_", " "), predicted, observed, off)
    return table


def _groups(bill: Bill, by: Sequence[str]) -> Table:
    table = Table(title=f"{bill.scenario.name} by {', '.join(by)}", title_justify="left")
    for name in by:
        table.add_column(name.replace("_", " "), overflow="fold")
    table.add_column("requests", justify="right")
    _money_columns(table)
    groups = sorted(bill.groups.items(), key=lambda g: -g[1].money.total)
    for key, totals in groups[:_MOST_GROUPS]:
        cells = ["unknown" if part is None else str(part) for part in key]
        table.add_row(*cells, tokens(totals.requests), *_money_cells(totals))
    if len(groups) > _MOST_GROUPS:
        table.caption = f"the {_MOST_GROUPS} dearest of {len(groups):,}; --json has all"
    return table


def _assumptions(bills: Sequence[Bill]) -> None:
    shared = [a for a in bills[0].assumptions if all(a in bill.assumptions for bill in bills)]
    notes.print("Assumed:", style="bold")
    for sentence in shared:
        notes.print(f"  • {sentence}", style="dim")
    for bill in bills:
        own = [a for a in bill.assumptions if a not in shared]
        for sentence in own[:_MOST_ASSUMPTIONS]:
            notes.print(f"  • {bill.scenario.name}: {sentence}", style="dim")
    if any(bill.totals.unpriced_requests and bill.totals.priced for bill in bills):
        notes.print("  * partial: some requests have no price")
