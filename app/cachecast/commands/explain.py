"""`cachecast explain`: how prompt caches work, on numbers that can be redone by hand."""

from datetime import UTC, datetime, time

import click

from cachecast.explain_table import explain_json, print_explained
from cachecast.output import print_json
from cachecast_pricing.catalog import load_catalog
from cachecast_sim.latency.catalog import model_shape
from cachecast_sim.mechanics import break_even


@click.command("explain", short_help="How prompt caches work, on small numbers.")
@click.option("--model", default="claude-opus-5", show_default=True, metavar="M",
              help="Whose prices the break-even is worked out with.")  # fmt: skip
@click.option("--shape", default="llama-3.1-8b", show_default=True, metavar="SHAPE",
              help="The model whose KV cache is sized (docs/latency.md lists them).")  # fmt: skip
@click.option("--context", default=128_000, show_default=True, type=click.IntRange(1, 10**9),
              help="Tokens of context to size it for.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="The same numbers as JSON.")
def command(model: str, shape: str, context: int, as_json: bool) -> None:
    """Show what an edit loses, what a KV cache saves and takes, and when a write pays.

    \b
    Example:
      cachecast explain --model claude-opus-5 --shape llama-3.1-8b
    """
    catalog = load_catalog()
    ref = catalog.resolve(model)
    card = catalog.card(ref, datetime.combine(catalog.newest, time(), tzinfo=UTC)).card
    rows = break_even(card.prices(0))
    sized = model_shape(shape)
    if as_json:
        print_json(explain_json(ref.model, card.currency, rows, shape, sized, context))
    else:
        print_explained(ref.model, card.currency, rows, shape, sized, context)
