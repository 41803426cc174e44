"""`cachecast price`: what one usage object costs."""

import json
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any, NoReturn

import click

from cachecast import output
from cachecast.price_table import price_table
from cachecast_datasets.errors import BadInput
from cachecast_pricing.catalog import load_catalog
from cachecast_pricing.quote import quote
from cachecast_pricing.rates import SERVICE_TIERS
from cachecast_pricing.reading import APIS


@click.command()
@click.option("--model", required=True, metavar="M", help="The model whose prices are used.")
@click.option("--provider", metavar="P", help="Whose price list, where several list the model.")
@click.option("--api", metavar="A", help=f"Whose usage object it is: {', '.join(APIS)}.")
@click.option("--on", metavar="DATE", help="A day, or an RFC 3339 time (default: newest prices).")
@click.option("--tier", metavar="T", help=f"Service tier: {', '.join(SERVICE_TIERS)}.")
@click.option("--currency", metavar="C", help="USD, or CNY where the provider lists it.")
@click.option(
    "--rates", metavar="FILE", type=click.Path(path_type=Path), help="Negotiated prices (TOML)."
)
@click.option(
    "--usage", "source", required=True, metavar="JSON|@FILE|-",
    help="The provider's raw usage object or whole response, a file with it, or - for stdin.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def command(
    model: str, provider: str | None, api: str | None, on: str | None, tier: str | None,
    currency: str | None, rates: Path | None, source: str, as_json: bool,
) -> None:  # fmt: skip
    """Price one usage object, class by class, beside what it would cost without a cache.

    Every amount is exact. What the object bills beside text tokens (audio, images, web searches)
    is not priced, and a note on stderr says so.

    \b
    cachecast price --model claude-opus-5 --usage '{"input_tokens": 50,
      "cache_read_input_tokens": 100000, "output_tokens": 500}'
    """
    priced = quote(
        load_catalog(rates), model, _read(source), provider=provider, api=api, on=on, tier=tier,
        currency=currency,
    )  # fmt: skip
    if as_json:
        output.print_json(priced.as_json())
        return
    output.print_table(price_table(priced))
    for note in priced.notes:
        output.notes.print(f"note: {note}", markup=False, soft_wrap=True)


def _read(source: str) -> dict[str, Any]:
    """The usage object from the command line, a file or stdin; BadInput if it is no object."""
    if source == "-":
        text, place = sys.stdin.read(), "stdin"
    elif source.startswith("@"):
        place = source[1:]
        try:
            text = Path(place).read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
            raise BadInput(f"--usage {place}: {reason}") from None
    else:
        text, place = source, "--usage"
    try:
        usage = json.loads(
            text, parse_float=Decimal, parse_constant=_no_number, object_pairs_hook=_no_twins
        )
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{place}: not JSON: {error}") from None
    if not isinstance(usage, dict):
        raise BadInput(f"{place}: expected a JSON object, found {type(usage).__name__}")
    return usage


def _no_number(name: str) -> NoReturn:
    raise BadInput(f"--usage: {name} is not a number that JSON knows")


def _no_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object; one that states a field twice contradicts itself."""
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise BadInput(f"--usage: field {twice!r} stands there twice")
    return found
