"""What-ifs in the shapes of the JSON contract (design §10)."""

from typing import Any

from cachecast.billing_report import money_text, totals_json
from cachecast.fleet_report import cost_json, fleet_json
from cachecast.whatif_job import OwnFleet, WhatIf
from cachecast_pricing.money import PICO
from cachecast_pricing.usage import CLASSES
from cachecast_sim.whatif.replay import Replay


def whatif_json(baseline: Replay, found: list[WhatIf | OwnFleet]) -> dict[str, Any]:
    """What `whatif --json` prints."""
    return {
        "baseline": _replay_json(baseline),
        "scenarios": [
            _changed_json(one) if isinstance(one, WhatIf) else _fleet_json(one, baseline)
            for one in found
        ],
    }


def _replay_json(replay: Replay) -> dict[str, Any]:
    """A scenario as in `bill`, and the requests that are not the log's own."""
    model = replay.scenario.model
    return {
        "name": replay.scenario.name,
        "model": "log" if model is None else model.model,
        **totals_json(replay.totals),
        "observed": None,
        "by": [],
        "sessions": len(replay.sessions),
        "hit_tokens": replay.hit_tokens,
        "prefill_tokens": replay.prefill_tokens,
        "extra": {
            "requests": replay.extra_requests,
            "charge": money_text(replay.extra_charge if replay.totals.priced else None),
        },
        "served": {
            "requests": replay.served_requests,
            "prompt_tokens": replay.served_tokens,
            "output_tokens": replay.served_output_tokens,
        },
        "assumptions": replay.assumptions,
    }


def _changed_json(one: WhatIf) -> dict[str, Any]:
    moved = one.difference
    return {
        **_replay_json(one.replay),
        "delta": {
            "charge": money_text(moved.charge),
            "hit_tokens": moved.hit_tokens,
            "prefill_tokens": moved.prefill_tokens,
        },
        "sessions_better": moved.better,
        "sessions_worse": moved.worse,
        "share_worse": moved.share_worse,
    }


def fleet_delta(one: OwnFleet, baseline: Replay) -> int | None:
    """Picounits: what the servers cost above the API's charge; None without a common currency."""
    cost = one.run.cost()
    if cost is None or not baseline.totals.priced or cost[1] != baseline.totals.money.currency:
        return None
    return int(cost[0] * PICO) - baseline.totals.money.total


def _fleet_json(one: OwnFleet, baseline: Replay) -> dict[str, Any]:
    served = fleet_json(one.run)
    hits, prompt = served["hit_tokens"], served["prompt_tokens"]
    classes = {"fresh": prompt - hits, "cache_read": hits, "output": served["output_tokens"]}
    return {
        **served,
        "name": one.name,
        "model": "fleet",
        "usage": {name: classes.get(name, 0) for name in CLASSES},
        "charge": cost_json(one.run.config.cost, one.run.gpu_time_ns),
        "prefill_tokens": prompt - hits,
        "delta": {
            "charge": money_text(fleet_delta(one, baseline)),
            "hit_tokens": hits - baseline.hit_tokens,
            "prefill_tokens": prompt - hits - baseline.prefill_tokens,
        },
        "sessions_better": None,
        "sessions_worse": None,
        "share_worse": None,
    }
