"""The best policy as a person reads it: what to do, what it costs, what is left to the bound."""

from collections.abc import Sequence

from rich import box
from rich.markup import escape
from rich.table import Table

from cachecast.optimize_job import Optimum
from cachecast.output import counted, money_column, notes, print_table, share
from cachecast_pricing.money import to_decimal


def print_optimum(found: Optimum, name: str) -> None:
    """Instructions and two tables; what is assumed on stderr."""
    judged = found.judged
    print(f"The best of {len(judged.policies):,} policies for this log under {name}:\n")
    for sentence in found.policy.instructions():
        print(f"  • {sentence}")
    print(f"\n  as a scenario: --as {_asked(found, name)}\n")
    print_table(_money(found, name))
    print(f"{verdict(found)}\n")
    print_table(_simpler(found))
    notes.print("Assumed:", style="dim")
    for line in found.assumptions:
        notes.print(f"  • {line}", style="dim", markup=False)


def _asked(found: Optimum, name: str) -> str:
    change = found.policy.change
    pings = "" if change is None else f"   (whatif: --change keep-alive={change})"
    return f"{name},mark={found.policy.mark}{pings}"


def verdict(found: Optimum) -> str:
    """What following it saves, and the most that any other way could save beyond it."""
    before, after = found.baseline.totals.money.total, found.replay.totals.money.total
    left = after - found.judged.clairvoyant
    saved, rest = _column(found, [before - after, left])
    if after >= before:
        lead = "No policy is cheaper than the log's own"
    else:
        lead = f"Following it saves {saved} ({share((before - after) / before)})"
    if not after:
        return f"{lead}."
    return (
        f"{lead}; no use of the cache could save more than another {rest} "
        f"({share(left / after)} of the rest)."
    )


def _money(found: Optimum, name: str) -> Table:
    totals = found.baseline.totals
    table = _table(
        f"{escape(name)}: {counted(totals.requests, 'request')}, "
        f"{counted(totals.prompt_tokens, 'prompt token')}, "
        f"{counted(len(found.baseline.sessions), 'session')}",
        "", "charge", "", "read", "sessions worse",
    )  # fmt: skip
    before, after = totals.money.total, found.replay.totals.money.total
    rows = [
        ("the log's own policy", before),
        ("the best policy", after),
        ("each session by its own best policy", found.judged.per_session),
        ("clairvoyant bound", found.judged.clairvoyant),
    ]
    charges = _column(found, [charge for _, charge in rows])
    worse = f"{found.difference.worse or 0:,} ({share(found.difference.share_worse)})"
    read = [share(totals.token_hit_ratio), share(found.replay.totals.token_hit_ratio), "", ""]
    sessions = ["", worse, "", ""]
    for i, (label, charge) in enumerate(rows):
        change = "" if not i or not before else share((charge - before) / before)
        table.add_row(
            label, charges[i], change, read[i], sessions[i], style="green" if i == 1 else None
        )
    return table


def _simpler(found: Optimum) -> Table:
    """How much each further marker is worth."""
    table = _table("The best without pings, by its number of markers", "markers", "mark=", "charge")
    simpler = found.simpler()
    charges = _column(found, [charge for _, charge in simpler])
    for (policy, _), charge in zip(simpler, charges, strict=True):
        table.add_row(str(len(policy.places)), policy.mark, charge)
    return table


def _column(found: Optimum, picounits: Sequence[int]) -> list[str]:
    currency = found.replay.totals.money.currency or ""
    return money_column([to_decimal(p) for p in picounits], currency)


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", header_style="bold", box=box.SIMPLE_HEAD)
    for number, column in enumerate(columns):
        left = number == 0 or column == "mark="
        table.add_column(column, justify="left" if left else "right", no_wrap=True)
    return table
