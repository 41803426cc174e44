"""`cachecast price`: what one usage object costs."""

import json
import os
import sys
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, NoReturn

import click

from cachecast import output
from cachecast.price_table import price_table
from cachecast_datasets.errors import BadInput
from cachecast_datasets.small_file import read_small
from cachecast_pricing.catalog import load_catalog
from cachecast_pricing.counts import shown
from cachecast_pricing.quote import quote
from cachecast_pricing.rates import SERVICE_TIERS
from cachecast_pricing.reading import APIS

_MOST_INT_DIGITS = 30  # longer ones are decimals, which have no limit of digits


@click.command(short_help="Price one usage object, class by class.")
@click.option("--model", required=True, metavar="M", help="The model whose prices are used.")
@click.option("--provider", metavar="P", help="Whose price list, where several list the model.")
@click.option("--api", metavar="A", help=f"Whose usage object it is: {', '.join(APIS)}.")
@click.option("--on", metavar="DATE", help="A day, or an RFC 3339 time (default: newest prices).")
@click.option("--tier", metavar="T", help=f"Service tier: {', '.join(SERVICE_TIERS)}.")
@click.option("--regional", is_flag=True, help="Price of a regional endpoint or processing.")
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
    regional: bool, currency: str | None, rates: Path | None, source: str, as_json: bool,
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
        currency=currency, regional=regional,
    )  # fmt: skip
    if as_json:
        output.print_json(priced.as_json())
        return
    output.print_table(price_table(priced))
    for note in priced.notes:
        output.notes.print(f"note: {note}", markup=False)


def _read(source: str) -> dict[str, Any]:
    """The usage object from the command line, a file or stdin; BadInput if it is no object."""
    text, place = _text(source)
    try:
        usage = json.loads(
            text, parse_float=_number, parse_int=_number, parse_constant=_no_number,
            object_pairs_hook=_no_twins,
        )  # fmt: skip
    except BadInput as error:
        raise BadInput(f"{place}: {error}") from None
    except RecursionError:
        raise BadInput(f"{place}: not JSON: nested too deeply") from None
    except ValueError as error:
        raise BadInput(f"{place}: not JSON: {error}") from None
    if not isinstance(usage, dict):
        raise BadInput(f"{place}: expected a JSON object, found {type(usage).__name__}")
    return usage


def _text(source: str) -> tuple[str, str]:
    """The JSON text, and the place to name in a message."""
    if source == "-":
        place = "stdin"
        if sys.stdin is None:  # closed by whoever called us
            raise BadInput("stdin: closed, expected a JSON object")
        data = sys.stdin.buffer.read()
    elif source.startswith("@"):
        place = f"--usage {source[1:]}"
        if not source[1:]:
            raise BadInput("--usage @: expected the name of a file after @")
        try:
            data = read_small(Path(source[1:]))
        except (OSError, BadInput) as error:
            raise BadInput(f"{place}: {getattr(error, 'strerror', error)}") from None
    else:
        place, data = "--usage", os.fsencode(source)
    try:
        return data.decode("utf-8-sig"), place
    except UnicodeDecodeError as error:
        wrong = f"byte 0x{data[error.start]:02x} at position {error.start}"
        raise BadInput(f"{place}: not UTF-8 text ({wrong})") from None


def _number(text: str) -> int | Decimal:
    """A number as it is written; BadInput for one that not even a decimal can hold."""
    if len(text) < _MOST_INT_DIGITS and text.lstrip("-").isdecimal():
        return int(text)
    try:
        return Decimal(text)
    except InvalidOperation:
        cut = text if len(text) <= 40 else text[:37] + "..."
        raise BadInput(f"the number {cut} is too large or too small to be read") from None


def _no_number(name: str) -> NoReturn:
    raise BadInput(f"{name} is not a number that JSON knows")


def _no_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object; one that states a field twice contradicts itself."""
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise BadInput(f"field {shown(twice)} stands there twice")
    return found
