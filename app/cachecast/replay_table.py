"""What a replay measured, as a table and as JSON."""

from typing import Any

from rich import box
from rich.table import Table

from cachecast.fleet_table import say_rejected
from cachecast.output import print_table, share, tokens
from cachecast_sim.fleet.summary import FleetTotals, spread


def measured_json(totals: FleetTotals, steps: int) -> dict[str, Any]:
    """Tokens and latencies of the completed requests."""
    return {
        "requests": totals.requests,
        "completed": totals.completed,
        "rejected": totals.rejected,
        "prompt_tokens": totals.prompt_tokens,
        "hit_tokens": totals.hit_tokens,
        "token_hit_ratio": totals.token_hit_ratio,
        "readmission_hit_tokens": totals.readmission_hit_tokens,
        "steps": steps,
        "ttft_s": _spread(totals.ttft_ns),
        "e2e_s": _spread(totals.e2e_ns),
        "makespan_s": totals.makespan_s,
    }


def _spread(values: Any) -> dict[str, float] | None:
    found = spread(values)
    if found is None:
        return None
    return {"mean": found.mean, "p50": found.p50, "p90": found.p90, "p99": found.p99}


def print_measured(totals: FleetTotals, meta: dict[str, Any]) -> None:
    """The engine's hits and latencies."""
    say_rejected(totals)
    table = Table(
        title=f"{meta['engine']} on {meta['device']}, {meta['clock']} clock",
        title_justify="left", header_style="bold", box=box.SIMPLE_HEAD,
    )  # fmt: skip
    names = ("requests", "rejected", "prompt tokens", "hit", "TTFT mean", "p90", "E2E mean")
    for name in names:
        table.add_column(name, justify="right", no_wrap=True)
    ttft, e2e = spread(totals.ttft_ns), spread(totals.e2e_ns)
    table.add_row(
        tokens(totals.requests), tokens(totals.rejected), tokens(totals.prompt_tokens),
        share(totals.token_hit_ratio), *(_ms(s) for s in (
            None if ttft is None else ttft.mean, None if ttft is None else ttft.p90,
            None if e2e is None else e2e.mean,
        )),
    )  # fmt: skip
    print_table(table)


def _ms(seconds: float | None) -> str:
    return "–" if seconds is None else f"{1000 * seconds:,.1f} ms"
