"""A fleet run in the shapes of the JSON contract (design §10)."""

from decimal import Decimal
from typing import Any

from cachecast_sim.fleet.break_even import break_even
from cachecast_sim.fleet.config import CostTable
from cachecast_sim.fleet.job import Job
from cachecast_sim.fleet.run import FleetRun
from cachecast_sim.fleet.summary import (
    NS,
    Spread,
    quantiles,
    quantiles_of_counts,
    spread,
    spread_of_counts,
)


def fleet_json(run: FleetRun) -> dict[str, Any]:
    """What `simulate --json` prints."""
    totals = run.totals
    return {
        "requests": totals.requests + run.skipped,
        "completed": totals.completed,
        "rejected": totals.rejected,
        "skipped": run.skipped,
        "prompt_tokens": totals.prompt_tokens,
        "output_tokens": totals.output_tokens,
        "hit_tokens": totals.hit_tokens,
        "loaded_tokens": totals.loaded_tokens,
        "token_hit_ratio": totals.token_hit_ratio,
        "preemptions": run.preemptions,
        "readmission_hit_tokens": totals.readmission_hit_tokens,
        "evicted_blocks": run.evicted_blocks,
        "steps": run.steps,
        "ttft_s": _spread_json(spread(totals.ttft_ns)),
        "itl_s": _spread_json(spread_of_counts(run.gaps)),
        "e2e_s": _spread_json(spread(totals.e2e_ns)),
        "makespan_s": totals.makespan_s,
        "servers": run.config.servers,
        "gpu_hours": run.gpu_hours(),
        "cost": cost_json(run.config.cost, run.gpu_time_ns),
        "misses": [
            {"reason": reason, "requests": totals.missed_requests[reason], "tokens": tokens}
            for reason, tokens in sorted(totals.misses.items(), key=lambda item: -item[1])
        ],
        "tiers": [
            {
                "name": tier.name,
                "capacity_blocks": tier.capacity_blocks,
                "written_blocks": tier.written_blocks,
                "read_blocks": tier.read_blocks,
                "evicted_blocks": tier.evicted_blocks,
            }
            for tier in run.tiers
        ],
        "assumptions": run.assumptions(),
    }


# shares of requests, or of gaps between tokens, at which a run's distributions are kept
_SHARES = (*(place / 100 for place in range(100)), 0.995, 0.999, 1.0)


def distributions_json(run: FleetRun) -> dict[str, Any]:
    """TTFT and E2E of requests and ITL of all gaps in seconds, at each of the `shares`; None
    without any."""
    totals, gaps = run.totals, run.gaps
    return {
        "shares": list(_SHARES),
        "ttft_s": quantiles(totals.ttft_ns, _SHARES) if totals.ttft_ns else None,
        "itl_s": quantiles_of_counts(gaps, _SHARES) if gaps else None,
        "e2e_s": quantiles(totals.e2e_ns, _SHARES) if totals.e2e_ns else None,
    }


def _spread_json(found: Spread | None) -> dict[str, float] | None:
    if found is None:
        return None
    return {"mean": found.mean, "p50": found.p50, "p90": found.p90, "p99": found.p99}


def cost_json(table: CostTable | None, gpu_time_ns: int) -> dict[str, str] | None:
    """The GPUs' price over the makespan, exact; None where the fleet file names no price."""
    if table is None:
        return None
    return {"currency": table.currency, "total": format(table.of(gpu_time_ns), "f")}


def break_even_json(fleet: dict[str, Any], bill: dict[str, Any]) -> dict[str, Any]:
    """Of `fleet_json` and one scenario of `bill --json`: see `break_even.break_even`."""
    cost, charge = fleet["cost"], bill["charge"]
    found = break_even(
        None if cost is None else (Decimal(cost["total"]), cost["currency"]),
        None if charge is None else (Decimal(charge["total"]), charge["currency"]),
        unserved=fleet["rejected"] + fleet["skipped"],
        unpriced=bill["unpriced_requests"],
    )
    traffic = None if found.traffic is None else format(found.traffic, "f")
    return {"scenario": bill["name"], "traffic": traffic, "unknown": found.unknown}


def row_json(job: Job) -> dict[str, Any]:
    """One request, as `--per-request` prints it; seconds from the log's origin."""
    return {
        "request_id": job.request_id,
        "status": job.status,
        "server": job.server,
        "decode_server": job.decode_server,
        "prompt_tokens": job.prompt_tokens,
        "output_tokens": job.output_tokens,
        "hit_tokens": job.hit_tokens,
        "loaded_tokens": job.loaded_tokens,
        "readmission_hit_tokens": job.readmission_hit_tokens,
        "preemptions": job.preemptions,
        "arrival_s": job.arrival_ns / NS,
        "scheduled_s": _seconds(job.scheduled_ns),
        "first_token_s": _seconds(job.first_token_ns),
        "end_s": _seconds(job.end_ns),
        "reason": job.reason,
        "misses": [{"reason": reason, "tokens": tokens} for reason, tokens in job.misses],
    }


def _seconds(time_ns: int | None) -> float | None:
    return None if time_ns is None else time_ns / NS
