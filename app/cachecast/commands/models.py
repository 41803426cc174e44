"""`cachecast models`: every price in the catalogue, with its source."""

from pathlib import Path

import click
from rich.table import Table

from cachecast import output
from cachecast_pricing.catalog import load_catalog
from cachecast_pricing.listing import listing


@click.command()
@click.option("--provider", metavar="P", help="Only this provider's models.")
@click.option(
    "--rates", metavar="FILE", type=click.Path(path_type=Path), help="Negotiated prices (TOML)."
)
@click.option("--json", "as_json", is_flag=True, help="Print the rows as JSON.")
def command(provider: str | None, rates: Path | None, as_json: bool) -> None:
    """List models with their prices per million tokens, validity, source and reading date.

    \b
    cachecast models --provider anthropic
    """
    rows = listing(load_catalog(rates), provider)
    if as_json:
        output.print_json({"models": rows})
        return
    table = Table(title="standard prices per million tokens", title_justify="left")
    table.add_column("model", no_wrap=True)
    table.add_column("valid")
    table.add_column("")
    for name in ("input", "read", "write", "output"):
        table.add_column(name, justify="right")
    table.add_column("read on")
    for row in rows:
        prices = row["prices"]["standard"]
        validity = f"{row['valid_from'] or ''} – {row['valid_to'] or ''}"
        table.add_row(
            f"{row['provider']}/{row['model']}", "" if validity == " – " else validity,
            row["currency"], prices["fresh"] or "–", prices["cache_read"] or "–", _writes(prices),
            prices["output"] or "–", row["checked"],
        )  # fmt: skip
    output.print_table(table)


def _writes(prices: dict[str, str | None]) -> str:
    """Each write price that there is, with its lifetime."""
    found = {name.removeprefix("cache_write_"): price for name, price in prices.items()
             if name.startswith("cache_write_") and price is not None}  # fmt: skip
    return ", ".join(f"{price} ({life})" for life, price in found.items()) or "–"
