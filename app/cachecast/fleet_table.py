"""A fleet run as tables a person reads at a glance."""

from collections.abc import Sequence
from decimal import Decimal

from rich import box
from rich.markup import escape
from rich.table import Table

from cachecast.billing import Bill
from cachecast.output import money_column, notes, print_table, share, tokens
from cachecast_pricing.money import to_decimal
from cachecast_sim.fleet.break_even import break_even
from cachecast_sim.fleet.run import FleetRun
from cachecast_sim.fleet.summary import FleetTotals, Spread, spread, spread_of_counts


def print_fleet(run: FleetRun, name: str, bills: Sequence[Bill]) -> None:
    """The fleet, its latencies, its misses and what the same log costs at an API."""
    totals = run.totals
    say_rejected(totals)
    print_table(_served(run, name))
    if totals.completed:
        print_table(_latencies(run))
        print_table(_misses(run))
    if run.tiers:
        print_table(_tiers(run))
    cost = run.cost()
    if cost is not None or any(bill.totals.priced for bill in bills):
        print_table(_money(run, name, bills))
    assumed = [*run.assumptions(), *(a for bill in bills for a in bill.assumptions)]
    if assumed:
        notes.print("Assumed:", style="dim")
    for sentence in dict.fromkeys(assumed):
        notes.print(f"  • {sentence}", style="dim", markup=False)


def say_rejected(totals: FleetTotals) -> None:
    """Why requests were not served, if some were not."""
    if not totals.rejected:
        return
    them = "one is" if totals.rejected == 1 else "each is"
    who = f"{totals.rejected:,} of {totals.requests:,} requests were rejected: {them}"
    if totals.rejected == totals.requests:
        who = f"all {totals.requests:,} requests were rejected: each is"
    notes.print(
        f"{who} larger than a server's cache (engine.blocks, engine.tokens)",
        style="bold red",
    )


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", header_style="bold", box=box.SIMPLE_HEAD)
    for number, column in enumerate(columns):
        table.add_column(column, justify="right" if number else "left", no_wrap=True)
    return table


def _served(run: FleetRun, name: str) -> Table:
    totals, config = run.totals, run.config
    servers = f"{config.servers} server{'s' if config.servers > 1 else ''}"
    if config.disaggregated:
        servers = f"{config.fleet.prefill_servers} prefill + {config.fleet.decode_servers} decode"
    table = _table(
        f"{escape(name)}: {servers}, {config.fleet.engine}, {config.fleet.router}, "
        f"{config.fleet.loop} loop",
        "requests", "rejected", "prompt tokens", "hit", "preemptions", "evicted blocks",
        "makespan", "GPU hours",
    )  # fmt: skip
    table.add_row(
        tokens(totals.requests), tokens(totals.rejected), tokens(totals.prompt_tokens),
        share(totals.token_hit_ratio), tokens(run.preemptions), tokens(run.evicted_blocks),
        duration(totals.makespan_s), f"{run.gpu_hours():,.2f}",
    )  # fmt: skip
    return table


def _latencies(run: FleetRun) -> Table:
    table = _table("latency", "", "mean", "p50", "p90", "p99")
    rows: list[tuple[str, Spread | None]] = [
        ("TTFT", spread(run.totals.ttft_ns)),
        ("ITL", spread_of_counts(run.gaps)),
        ("E2E", spread(run.totals.e2e_ns)),
    ]
    for label, found in rows:
        if found is not None:
            cells = (found.mean, found.p50, found.p90, found.p99)
            table.add_row(label, *(duration(value) for value in cells))
    return table


def _misses(run: FleetRun) -> Table:
    totals = run.totals
    table = _table("prompt tokens that were not hit", "reason", "requests", "tokens", "of prompt")
    for reason, count in sorted(totals.misses.items(), key=lambda item: -item[1]):
        table.add_row(
            reason.replace("_", " "), tokens(totals.missed_requests[reason]), tokens(count),
            share(count / totals.prompt_tokens),
        )  # fmt: skip
    return table


def _tiers(run: FleetRun) -> Table:
    table = _table("tiers below the GPUs", "tier", "blocks", "written", "read", "evicted")
    for tier in run.tiers:
        counts = (
            tier.capacity_blocks, tier.written_blocks, tier.read_blocks, tier.evicted_blocks,
        )  # fmt: skip
        table.add_row(escape(tier.name), *(tokens(count) for count in counts))
    return table


def _money(run: FleetRun, name: str, bills: Sequence[Bill]) -> Table:
    """Own servers beside the API, where each has a price."""
    rows: list[tuple[str, Decimal | None, str, str]] = []
    cost = run.cost()
    if cost is not None:
        rows.append((escape(f"own servers ({name})"), cost[0], cost[1], ""))
    for bill in bills:
        if bill.totals.priced:
            money = bill.totals.money
            rows.append(
                (
                    escape(f"API: {bill.scenario.name}"),
                    to_decimal(money.total),
                    money.currency or "",
                    _break_even(run, bill),
                )
            )
    table = _table("what the log costs", "", "charge", "break-even")
    for label, amount, currency, even in rows:
        table.add_row(label, money_column([amount], currency)[0], even)
    if cost is not None and bills:
        table.caption = "break-even: at so many times the traffic both cost the same"
    return table


def _break_even(run: FleetRun, bill: Bill) -> str:
    """The traffic at which the API would bill what the GPUs cost; the reason where unknown."""
    money = bill.totals.money
    found = break_even(
        run.cost(), (to_decimal(money.total), money.currency or ""),
        unserved=run.totals.rejected + run.skipped,
        unpriced=bill.totals.unpriced_requests,
    )  # fmt: skip
    if found.traffic is None:
        return f"unknown: {found.unknown}"
    return f"{found.traffic:,.3g} × the traffic"


def duration(seconds: float) -> str:
    """Three digits and a unit a person thinks in."""
    if seconds < 1:
        return f"{seconds * 1000:,.3g} ms"
    for size, unit in ((86_400, "d"), (3600, "h"), (60, "min")):
        if seconds >= 10 * size:
            return f"{seconds / size:,.1f} {unit}"
    return f"{seconds:,.3g} s"
