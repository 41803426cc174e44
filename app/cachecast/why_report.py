"""What `why` found, in the shapes of the JSON contract (design §10)."""

from typing import Any

from cachecast.billing_report import charge_json, miss_json, money_text, observed_json
from cachecast.why_job import Why
from cachecast_sim.ledger import LedgerRow
from cachecast_sim.totals import merged
from cachecast_sim.why.causes import Difference, Finding, Place
from cachecast_sim.why.observed_stop import Stop, observed_stop
from cachecast_sim.why.rollup import Example, ReasonSum, Sum, dearest


def why_json(why: Why) -> dict[str, Any]:
    """The document of `why --json`."""
    rollup = why.rollup
    totals = rollup.totals
    return {
        "scenario": why.scenario.name,
        "model": "log" if why.scenario.model is None else why.scenario.model.model,
        "requests": totals.requests,
        "prompt_tokens": totals.prompt_tokens,
        "charge": charge_json(totals),
        "misses": [
            miss_json(reason) | _reason_json(rollup.reasons[reason.reason])
            for reason in totals.misses_by_cost()
        ],
        "causes": [{"cause": name} | _sum_json(total) for name, total in dearest(rollup.causes)],
        "by": {
            name: [{name: key} | _group_json(name, total) for key, total in dearest(groups)]
            for name, groups in rollup.groups.items()
        },
        "next": [
            {
                "causes": step.causes,
                "tokens": step.tokens,
                "cost": money_text(step.cost),
                "advice": step.remedy.advice,
                "change": step.change,
            }
            for step in why.steps
        ],
        "diagnoses": _diagnoses_json(why),
        "observed": observed_json(totals),
        "ttl_tier_changes": [
            {"day": day, "before": before, "after": after}
            for day, before, after in rollup.tier_changes()
        ],
        "with_text": why.with_text,
        "assumptions": why.assumptions,
    }


def _reason_json(reason: ReasonSum) -> dict[str, Any]:
    return {
        "sections": [
            {"section": name} | _part_json(total) for name, total in dearest(reason.sections)
        ],
        "causes": [{"cause": name} | _sum_json(total) for name, total in dearest(reason.causes)],
        "examples": [_example_json(example) for example in reason.examples],
    }


def _part_json(total: Sum) -> dict[str, Any]:
    return {"requests": total.requests, "tokens": total.tokens, "cost": money_text(total.cost)}


def _sum_json(total: Sum) -> dict[str, Any]:
    counts = {"breaks": total.breaks, "not_a_break": total.not_a_break}
    return _part_json(total) | {"avoidable_cost": money_text(total.avoidable_cost)} | counts


def _group_json(name: str, total: Sum) -> dict[str, Any]:
    found = _sum_json(total)
    if name == "section":  # a part of a request has no charge of its own
        return found
    share = None
    if total.cost is not None and total.spend:
        share = total.cost / total.spend
    return found | {
        "prompt_tokens": total.prompt_tokens,
        "charge": money_text(total.spend),
        "share_of_charge": share,
    }


def _example_json(example: Example) -> dict[str, Any]:
    return {
        "request_id": example.request_id,
        "tokens": example.tokens,
        "cost": money_text(example.cost),
        **finding_json(example.finding),
    }


def _diagnoses_json(why: Why) -> dict[str, Any] | None:
    found = why.rollup.diagnoses
    if not found.told:
        return None
    return {
        "told": found.told,
        "agree": found.agree,
        "disagree": found.disagree,
        "examples": [
            {"request_id": request_id, "provider": told, "ours": ours}
            for request_id, told, ours in found.examples
        ],
    }


def finding_json(finding: Finding) -> dict[str, Any]:
    """Cause, candidates, further differences, and where the prompts part."""
    return {
        "cause": finding.cause,
        "candidates": list(finding.candidates),
        "also": [difference_json(difference) for difference in finding.also],
        "divergence": None if finding.place is None else _place_json(finding.place),
        "compared_with": finding.compared_with,
        "breaks": finding.breaks,
        "evidence": dict(finding.evidence),
        "diagnosis": (
            None if finding.told is None else {"provider": finding.told, "agrees": finding.agrees}
        ),
    }


def difference_json(difference: Difference) -> dict[str, Any]:
    """One difference from the earlier prompt."""
    return {
        "cause": difference.cause,
        "candidates": list(difference.candidates),
        "divergence": None if difference.place is None else _place_json(difference.place),
        "evidence": dict(difference.evidence),
    }


def _place_json(place: Place) -> dict[str, Any]:
    return {
        "section": place.section,
        "block": place.block,
        "tokens": place.tokens,
        "label": place.label,
        "offset": place.offset,
        "before": place.before,
        "after": place.after,
    }


def _stop_json(stop: Stop | None) -> dict[str, Any] | None:
    if stop is None:
        return None
    return {
        "cache_read": stop.read,
        "predicted": stop.predicted,
        "stops_at": stop.stops_at,
        "explained": [
            {"cause": gap.cause, "tokens": gap.tokens, "cost": money_text(gap.cost)}
            for gap in stop.gaps
        ],
        "candidates": list(stop.candidates),
    }


def answer_json(scenario: str, row: LedgerRow, finding: Finding) -> dict[str, Any]:
    """One request that missed, as `--per-request` prints it."""
    request = row.request
    return {
        "scenario": scenario,
        "request_id": request.request_id,
        "session_id": request.session_id,
        "arrival_s": request.arrival_us / 1_000_000,
        "model": None if row.model is None else row.model.model,
        "prompt_tokens": row.usage.prompt_tokens,
        "hit_tokens": row.outcome.hit_tokens,
        "reason": row.outcome.explanation.reason,
        **finding_json(finding),
        "observed": _stop_json(observed_stop(row)),
        "misses": [
            {"reason": reason, "tokens": tokens, "cost": money_text(cost)}
            for reason, tokens, cost in merged(row)
        ],
    }
