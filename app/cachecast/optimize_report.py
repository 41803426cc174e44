"""The best policy in the shape of the JSON contract (design §10)."""

from typing import Any

from cachecast.billing_report import charge_json, money_text, totals_json
from cachecast.optimize_job import Optimum
from cachecast_sim.optimize.policy import Policy


def optimum_json(found: Optimum) -> dict[str, Any]:
    """What `optimize --json` prints."""
    judged, best = found.judged, found.replay.totals
    total = best.money.total
    return {
        "policy": policy_json(found.policy),
        "instructions": found.policy.instructions(),
        "charge": charge_json(best),
        "baseline": charge_json(found.baseline.totals),
        "bound": {
            "currency": best.money.currency,
            "total": money_text(judged.clairvoyant),
            "per_session": money_text(judged.per_session),
            "clairvoyant": money_text(judged.clairvoyant),
        },
        "candidates": len(judged.policies),
        "saving": money_text(found.baseline.totals.money.total - total),
        "left_to_bound": money_text(total - judged.clairvoyant),
        "sessions_better": found.difference.better,
        "sessions_worse": found.difference.worse,
        "share_worse": found.difference.share_worse,
        "scenario": totals_json(best),
        "simpler": [
            {"policy": policy_json(policy), "charge": money_text(charge)}
            for policy, charge in found.simpler()
        ],
        "assumptions": found.assumptions,
    }


def policy_json(policy: Policy) -> dict[str, Any]:
    """A policy: `mark` and `keep_alive` are what `--as` and `--change` take."""
    pings = policy.pings
    return {
        "mark": policy.mark,
        "keep_alive": policy.change,
        "markers": [{"place": place.name, "ttl": place.ttl} for place in policy.places],
        "pings": None if pings is None else {"every_s": pings.every_s, "times": pings.times},
    }
