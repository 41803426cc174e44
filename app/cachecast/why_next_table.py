"""What to do about the misses, and the command that proves it on the same log."""

import shlex
from collections.abc import Sequence

from rich import box
from rich.table import Table

from cachecast.output import money_column, print_table, share
from cachecast.why_job import Why
from cachecast_pricing.money import to_decimal

_MOST_STEPS = 6


def print_next_steps(why: Why, asked: Sequence[str]) -> None:
    """The remedies, the dearest first, and `whatif` with their changes; nothing without misses."""
    if not why.steps:
        return
    print_table(_table(why))
    changes = [step.change for step in why.steps[:_MOST_STEPS] if step.change is not None]
    if not changes:
        return
    together = [",".join(changes)] if len(changes) > 1 else []
    options = [word for change in (*changes, *together) for word in ("--change", change)]
    print("What these would have saved, net of what they cost, replayed over this log:\n")
    print(f"  {shlex.join(['cachecast', 'whatif', *asked, *options])}\n")


def _table(why: Why) -> Table:
    totals = why.rollup.totals
    steps = why.steps[:_MOST_STEPS]
    amounts = [None if s.cost is None or not totals.priced else to_decimal(s.cost) for s in steps]
    costs = money_column(amounts, totals.money.currency or "")
    table = Table(
        title="What to do about it, and the most that it can save",
        title_justify="left", header_style="bold", box=box.SIMPLE_HEAD,
    )  # fmt: skip
    table.add_column("at most", justify="right", no_wrap=True)
    table.add_column("of the charge", justify="right", no_wrap=True)
    table.add_column("against", overflow="fold")
    table.add_column("do this", overflow="fold")
    for step, cost in zip(steps, costs, strict=True):
        part = share(step.cost / totals.money.total) if step.cost and totals.money.total else "–"
        against = ", ".join(cause.replace("_", " ") for cause in step.causes)
        table.add_row(cost, part, against, step.remedy.advice)
    return table
