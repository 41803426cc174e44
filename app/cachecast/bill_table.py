"""Bills as tables a person reads at a glance."""

from collections.abc import Iterator, Sequence
from decimal import Decimal

from rich import box
from rich.markup import escape
from rich.table import Table

from cachecast.billing import Bill
from cachecast.miss_table import misses_compared, misses_of_one
from cachecast.observed_table import gap_table, observed_table
from cachecast.output import counted, has_colours, money_column, notes, print_table, share, tokens
from cachecast_pricing.money import to_decimal
from cachecast_sim.totals import Totals

_MOST_GROUPS = 40
_TIMES = ("day", "hour")

# columns of the comparison, by how wide the terminal is
_WIDE = ("read", "written", "fresh", "charge", "no cache", "saved", "")
_NARROW = ("read", "charge", "saved", "")


def print_bills(bills: Sequence[Bill], by: Sequence[str]) -> None:
    """The comparison, then why tokens were not read; what is assumed on stderr."""
    rows = [(escape(bill.scenario.name),) for bill in bills]
    print_table(*(_comparison(bills, rows, names) for names in (_WIDE, _NARROW)))
    if any(bill.totals.misses for bill in bills):
        print_table(*(misses_of_one(bills[0]) if len(bills) == 1 else misses_compared(bills)))
    for bill in bills:
        if bill.totals.observed is not None:
            print_table(observed_table(bill))
            if bill.totals.gaps.causes():
                print_table(gap_table(bill))
        if by:
            print_table(*(_groups(bill, by, names) for names in (_WIDE, _NARROW)))
    _assumptions(bills)


def _table(title: str) -> Table:
    return Table(title=title, title_justify="left", header_style="bold", box=box.SIMPLE_HEAD)


def _cells(found: Sequence[Totals]) -> dict[str, list[str]]:
    """Each column's cells, one for each of `found`."""
    usages = [totals.usage for totals in found]
    prompts = [totals.prompt_tokens for totals in found]
    plain = [totals.money.without_cache if totals.priced else None for totals in found]
    saved = [totals.net_saving if totals.priced else None for totals in found]
    return {
        "requests": [tokens(totals.requests) for totals in found],
        "prompt tokens": [tokens(prompt) for prompt in prompts],
        "read": [share(totals.token_hit_ratio) for totals in found],
        "written": [_part(u.cache_write, p) for u, p in zip(usages, prompts, strict=True)],
        "fresh": [_part(u.fresh, p) for u, p in zip(usages, prompts, strict=True)],
        "charge": _charges(found),
        "no cache": _amounts(found, plain),
        "saved": _amounts(found, saved),
        "": [_part(s or 0, p or 0) for s, p in zip(saved, plain, strict=True)],
    }


def _part(part: int, whole: int) -> str:
    return share(part / whole if whole else None)


def _amounts(found: Sequence[Totals], picounits: Sequence[int | None]) -> list[str]:
    currencies = {totals.money.currency for totals in found if totals.priced}
    values: list[Decimal | None] = [None if p is None else to_decimal(p) for p in picounits]
    if len(currencies) <= 1:
        return money_column(values, next(iter(currencies), None) or "")
    own = [totals.money.currency or "" for totals in found]
    return [money_column([v], c)[0] for v, c in zip(values, own, strict=True)]


def _charges(found: Sequence[Totals]) -> list[str]:
    """Charges, with the interval below where there is one, and a star where some have no price."""
    moneys = [totals.money for totals in found]
    priced = [totals.priced for totals in found]
    total = [m.total if p else None for m, p in zip(moneys, priced, strict=True)]
    low = [m.low if p else None for m, p in zip(moneys, priced, strict=True)]
    high = [m.high if p else None for m, p in zip(moneys, priced, strict=True)]
    texts = _amounts(found, total)
    cells = []
    for i, totals in enumerate(found):
        text = texts[i] + (" *" if totals.unpriced_requests and totals.priced else "")
        if priced[i] and not low[i] == total[i] == high[i]:
            least, most = (_amounts([totals], [end])[0] for end in (low[i], high[i]))
            text += f"\n[dim]{least} to {most}[/]"
        cells.append(text)
    return cells


def _comparison(
    bills: Sequence[Bill], rows: Sequence[tuple[str, ...]], names: Sequence[str]
) -> Table:
    first = bills[0].totals
    table = _table(
        f"{counted(first.requests, 'request')}, {counted(first.prompt_tokens, 'prompt token')}"
    )
    table.add_column("scenario", overflow="fold")
    for name in names:
        table.add_column(name, justify="right", no_wrap=True)
    cells = _cells([bill.totals for bill in bills])
    charges = [bill.totals.money.total for bill in bills if bill.totals.priced]
    for i, (bill, label) in enumerate(zip(bills, rows, strict=True)):
        best = len(charges) > 1 and bill.totals.priced and bill.totals.money.total == min(charges)
        style = "green" if best else None
        table.add_row(*label, *(cells[name][i] for name in names), style=style)
    return table


def _groups(bill: Bill, by: Sequence[str], names: Sequence[str]) -> Table:
    table = _table(f"{escape(bill.scenario.name)} by {', '.join(by)}")
    for name in by:
        table.add_column(name.replace("_", " "), no_wrap=True)
    columns = ("requests", "prompt tokens", *names) if names is _WIDE else names
    for name in columns:
        table.add_column(name, justify="right", no_wrap=True)
    groups = list(bill.groups.items())
    if by[0] in _TIMES:
        groups.sort(key=lambda group: str(group[0]))
    else:
        groups.sort(key=lambda group: -group[1].money.total)
    shown = groups[:_MOST_GROUPS]
    cells = _cells([totals for _, totals in shown])
    for i, (key, _) in enumerate(shown):
        parts = [_label(name, part) for name, part in zip(by, key, strict=True)]
        table.add_row(*parts, *(cells[name][i] for name in columns))
    if len(groups) > _MOST_GROUPS:
        table.caption = f"the first {_MOST_GROUPS} of {len(groups):,}; --json has all"
    return table


def _label(name: str, value: str | bool | None) -> str:
    if value is None:
        return "nothing missed" if name == "reason" else "not stated"
    return escape(str(value).replace("_", " ") if name == "reason" else str(value))


def _assumptions(bills: Sequence[Bill]) -> None:
    lines = ["Assumed:", *_assumed(bills)]
    if any(bill.totals.unpriced_requests and bill.totals.priced for bill in bills):
        lines.append("  * partial: some requests have no price")
    if has_colours() and len([bill for bill in bills if bill.totals.priced]) > 1:
        lines.append("  green: the cheapest")
    for line in lines:
        notes.print(line, style="dim", markup=False)


def _assumed(bills: Sequence[Bill]) -> Iterator[str]:
    """Each sentence once, behind the scenarios that it holds for if it does not hold for all.

    A sentence that begins with a model needs no names where it holds for all scenarios of that
    model and no other.
    """
    everyone = [bill.scenario.name for bill in bills]
    for sentence in dict.fromkeys(a for bill in bills for a in bill.assumptions):
        names = [bill.scenario.name for bill in bills if sentence in bill.assumptions]
        model, _, _ = sentence.partition(":")
        of_model = [name for name in everyone if name.partition(",")[0] == model]
        clear = names in (everyone, of_model)
        yield f"  • {sentence}" if clear else f"  • {'; '.join(names)}: {sentence}"
