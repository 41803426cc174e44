"""`cachecast models`: every price in the catalogue, with its source."""

from pathlib import Path

import click

from cachecast import output
from cachecast.model_table import model_tables
from cachecast_pricing.catalog import load_catalog
from cachecast_pricing.listing import listing


@click.command(short_help="List the models that have a price.")
@click.argument("name", required=False)
@click.option("--provider", metavar="P", help="Only this provider's models.")
@click.option(
    "--rates", metavar="FILE", type=click.Path(path_type=Path), help="Negotiated prices (TOML)."
)
@click.option("--json", "as_json", is_flag=True, help="Print the rows as JSON.")
def command(name: str | None, provider: str | None, rates: Path | None, as_json: bool) -> None:
    """List the models that have a price, or those whose id contains NAME.

    The table has the standard prices per million tokens of text, whether `cachecast bill` can
    simulate the model's cache, and the day that the price was read; a narrow terminal shows fewer
    columns. Long-context, peak-hour, batch, flex, priority and fast prices, the price of storage,
    the regional factor and the sources are in --json.

    \b
    cachecast models opus --provider anthropic
    """
    catalog = load_catalog(rates)
    rows = listing(catalog, provider, name)
    if as_json:
        output.print_json({"models": rows})
        return
    output.print_table(*model_tables(rows))
    for note in catalog.notes:
        output.notes.print(f"note: {note}", markup=False)
