"""The price of one usage object as a table with nothing rounded."""

from rich import box
from rich.markup import escape
from rich.table import Table

from cachecast.output import tokens
from cachecast_pricing.money import decimal_string, per_mtok_string
from cachecast_pricing.quote import Quote
from cachecast_pricing.quote_lines import Line

_SIGNS = {"USD": "$", "CNY": "¥"}


def exact(picounits: int, currency: str) -> str:
    """The amount with every digit it has: $0.02564."""
    whole, dot, part = decimal_string(abs(picounits)).partition(".")
    sign = "-" if picounits < 0 else ""
    return f"{sign}{_SIGNS.get(currency, f'{currency} ')}{int(whole):,}{dot}{part}"


def price_table(quote: Quote) -> Table:
    """One line for each class: tokens, price per million tokens, charge; then the totals."""
    currency = quote.charge.currency
    table = Table(
        title=escape(f"{quote.ref.model} ({quote.ref.provider})"), title_justify="left",
        header_style="bold", box=box.SIMPLE_HEAD,
    )  # fmt: skip
    table.add_column("class", no_wrap=True)
    for title in ("tokens", f"{currency} per MTok", "charge"):
        table.add_column(title, justify="right", no_wrap=True)
    for line in quote.lines:
        charged = exact(line.amount, currency)
        table.add_row(_name(line), tokens(line.tokens), _per_mtok(line), charged)
    table.add_section()
    usage = quote.reading.usage
    total = exact(quote.charge.total, currency)
    table.add_row("total", tokens(usage.prompt_tokens + usage.output), "", total, style="bold")
    if not quote.low == quote.high == quote.charge.total:
        upper = "no limit" if quote.high is None else exact(quote.high, currency)
        table.add_row("  at least", "", "", exact(quote.low, currency))
        table.add_row("  at most", "", "", upper)
    table.add_row("without a cache", "", "", exact(quote.without_cache, currency))
    table.add_row("net saving", "", "", exact(quote.net_saving, currency))
    return table


def _name(line: Line) -> str:
    """The class in words: "cache write 5m", "cache write, lifetime unknown"."""
    if line.name == "cache_write_unknown":
        return "cache write, lifetime unknown"
    return line.name.replace("_", " ")


def _per_mtok(line: Line) -> str:
    price = per_mtok_string(line.price) or "no price"
    if line.dearest is None or line.dearest == line.price:
        return price
    return f"{price} to {per_mtok_string(line.dearest)}"
