"""What a replay measured, as a table and as JSON."""

from typing import Any

from rich import box
from rich.table import Table

from cachecast.fleet_table import say_rejected
from cachecast.output import print_table, share, tokens
from cachecast_replay.runner import Replay
from cachecast_sim.fleet.gaps import counted
from cachecast_sim.fleet.summary import FleetTotals, Spread, spread, spread_of_counts


def measured_json(totals: FleetTotals, replay: Replay, preemptions: int) -> dict[str, Any]:
    """Tokens and latencies of the completed requests; ITL over all gaps between two tokens."""
    return {
        "requests": totals.requests,
        "completed": totals.completed,
        "rejected": totals.rejected,
        "prompt_tokens": totals.prompt_tokens,
        "hit_tokens": totals.hit_tokens,
        "token_hit_ratio": totals.token_hit_ratio,
        "readmission_hit_tokens": totals.readmission_hit_tokens,
        "preemptions": preemptions,
        "steps": replay.steps,
        "ttft_s": _json(spread(totals.ttft_ns)),
        "itl_s": _json(spread_of_counts(counted(replay.gaps_ns))),
        "e2e_s": _json(spread(totals.e2e_ns)),
        "makespan_s": totals.makespan_s,
    }


def _json(found: Spread | None) -> dict[str, float] | None:
    if found is None:
        return None
    return {"mean": found.mean, "p50": found.p50, "p90": found.p90, "p99": found.p99}


def print_measured(totals: FleetTotals, meta: dict[str, Any]) -> None:
    """The engine's hits and latencies."""
    found = meta["fleet"]
    say_rejected(totals)
    table = Table(
        title=f"{meta['engine']} on {meta['device']}, {meta['clock']} clock",
        title_justify="left", header_style="bold", box=box.SIMPLE_HEAD,
    )  # fmt: skip
    names = ("requests", "rejected", "prompt tokens", "hit", "preempted", "TTFT mean", "p90",
             "ITL mean", "E2E mean")  # fmt: skip
    for name in names:
        table.add_column(name, justify="right", no_wrap=True)
    ttft, itl, e2e = (found[name] or {} for name in ("ttft_s", "itl_s", "e2e_s"))
    times = (ttft.get("mean"), ttft.get("p90"), itl.get("mean"), e2e.get("mean"))
    table.add_row(
        tokens(totals.requests), tokens(totals.rejected), tokens(totals.prompt_tokens),
        share(totals.token_hit_ratio), tokens(found["preemptions"]), *map(_ms, times),
    )  # fmt: skip
    print_table(table)


def _ms(seconds: float | None) -> str:
    return "–" if seconds is None else f"{1000 * seconds:,.1f} ms"
