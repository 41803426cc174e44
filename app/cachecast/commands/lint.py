"""`cachecast lint`: do rendered requests keep their prefix? A check for a CI job."""

import tempfile
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import click

from cachecast.billing_report import money_text
from cachecast.lint_job import Lint, lint
from cachecast.output import counted, money, print_json, verdict
from cachecast.why_report import difference_json
from cachecast.why_words import shown_place
from cachecast_datasets.errors import BadInput
from cachecast_pricing.catalog import load_catalog
from cachecast_pricing.money import to_decimal
from cachecast_sim.why.stability import Break


@click.command("lint", short_help="Do rendered requests keep their prefix? For CI.")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="A B...")
@click.option("--as", "model", metavar="MODEL", help="Whose prices to use (default: their own).")
@click.option("--budget", metavar="MONEY",
              help="Fail only if the breaks cost more than this a month.")  # fmt: skip
@click.option("--requests-per-month", default=10_000, show_default=True,
              type=click.IntRange(1, 10**12),
              help="What the cost of a break is multiplied by.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="The same as JSON.")
def command(
    files: tuple[Path, ...],
    model: str | None,
    budget: str | None,
    requests_per_month: int,
    as_json: bool,
) -> int:
    """Compare rendered requests with one another, each with the one before it.

    A and B are the JSON bodies of two requests, or logs of any format; of a log its consecutive
    requests are compared. Exit code 1 at a break: a request that does not keep the tools, the
    system text or (of one conversation) the messages of the one before it. A break costs its lost
    tokens at the write price (else the plain one) above the read price, times
    --requests-per-month.

    \b
    Example:
      cachecast lint log.jsonl --as claude-opus-5 --budget 20
    """
    limit = None if budget is None else _money(budget)
    with tempfile.TemporaryDirectory(prefix="cachecast-") as tmp:
        found = lint(files, load_catalog(), model, requests_per_month, Path(tmp))
    monthly = found.per_month
    if limit is not None and monthly is None:
        raise BadInput("--budget needs a price: the requests name no known model; add --as MODEL")
    within = limit is not None and monthly is not None and to_decimal(monthly) <= limit
    code = 1 if found.breaks and not within else 0
    with verdict(code):
        if as_json:
            print_json(_json(found, limit, within))
        else:
            _print(found, limit, within)
    return code


def _money(text: str) -> Decimal:
    try:
        value = Decimal(text)
    except InvalidOperation:
        value = Decimal("NaN")
    if not value.is_finite() or value < 0:
        raise BadInput(f"--budget {text}: expected an amount of money a month, such as 20")
    return value


def _json(found: Lint, limit: Decimal | None, within: bool) -> dict[str, Any]:
    return {
        "stable": not found.breaks,
        "requests": found.requests,
        "model": None if found.model is None else found.model.model,
        "currency": found.currency,
        "requests_per_month": found.requests_per_month,
        "cost_per_month": money_text(found.per_month),
        "budget": None if limit is None else str(limit),
        "within_budget": within if limit is not None else None,
        "breaks": [
            {
                "earlier": broken.earlier,
                "later": broken.later,
                **difference_json(broken.difference),
                "also": [difference_json(difference) for difference in broken.more],
                "lost_tokens": broken.lost_tokens,
                "cost": money_text(cost),
            }
            for broken, cost in found.breaks
        ],
    }


def _print(found: Lint, limit: Decimal | None, within: bool) -> None:
    if not found.breaks:
        click.echo(f"{counted(found.requests, 'request')}: the prefix is stable")
        return
    for broken, cost in found.breaks:
        click.echo(_sentence(broken))
        if cost is not None and found.currency is not None:
            amount = money(to_decimal(cost), found.currency)
            click.echo(f"  {broken.lost_tokens:,} tokens are processed anew: {amount} a request")
    monthly = found.per_month
    if monthly is not None and found.currency is not None:
        amount = money(to_decimal(monthly), found.currency)
        click.echo(f"{amount} a month at {found.requests_per_month:,} requests")
        if limit is not None:
            verdict = "within" if within else "over"
            click.echo(f"{verdict} the budget of {money(limit, found.currency)} a month")


def _sentence(broken: Break) -> str:
    difference = broken.difference
    cause = difference.cause or " or ".join(difference.candidates) or "unknown"
    place = "" if difference.place is None else f" at {shown_place(difference.place)}"
    return f"{broken.earlier} → {broken.later}: {cause.replace('_', ' ')}{place}"
