"""Totals and rows of a bill in the shapes of the JSON contract (design §10)."""

from typing import Any

from cachecast.billing import Bill
from cachecast_pricing.money import decimal_string
from cachecast_sim.ledger import LedgerRow
from cachecast_sim.sums import MoneyTotal
from cachecast_sim.totals import ReasonTotal, Totals, merged


def bill_json(bill: Bill, by: list[str]) -> dict[str, Any]:
    """One scenario of the JSON contract."""
    model = bill.scenario.model
    return {
        "name": bill.scenario.name,
        "model": "log" if model is None else model.model,
        **totals_json(bill.totals),
        "observed": observed_json(bill.totals),
        "by": [
            {**dict(zip(by, key, strict=True)), **totals_json(group)}
            for key, group in bill.groups.items()
        ],
        "assumptions": bill.assumptions,
    }


def money_text(picounits: int | None) -> str | None:
    """A decimal string, or None for no price."""
    return None if picounits is None else decimal_string(picounits)


def charge_json(totals: Totals) -> dict[str, Any] | None:
    """The charge by class; None if no request has a price."""
    return _charge_json(totals.money) if totals.priced else None


def _charge_json(money: MoneyTotal) -> dict[str, Any]:
    interval = None
    if not money.low == money.total == money.high:
        interval = {"low": decimal_string(money.low), "high": decimal_string(money.high)}
    return {
        "currency": money.currency,
        "fresh": decimal_string(money.fresh),
        "cache_read": decimal_string(money.cache_read),
        "cache_write": decimal_string(money.cache_write),
        "output": decimal_string(money.output),
        "storage": decimal_string(money.storage),
        "total": decimal_string(money.total),
        "interval": interval,
    }


def totals_json(totals: Totals) -> dict[str, Any]:
    """What a scenario and each of its groups have in common."""
    priced = totals.priced
    return {
        "requests": totals.requests,
        "prompt_tokens": totals.prompt_tokens,
        "usage": totals.usage.as_dict(),
        "charge": charge_json(totals),
        "without_cache": decimal_string(totals.money.without_cache) if priced else None,
        "net_saving": decimal_string(totals.net_saving) if priced else None,
        "token_hit_ratio": totals.token_hit_ratio,
        "spend_hit_ratio": totals.spend_hit_ratio,
        "misses": [miss_json(reason) for reason in totals.misses_by_cost()],
        "unpriced_requests": totals.unpriced_requests,
    }


def miss_json(reason: ReasonTotal) -> dict[str, Any]:
    """One reason."""
    return {
        "reason": reason.reason,
        "requests": reason.requests,
        "tokens": reason.tokens,
        "cost": money_text(reason.cost),
        "avoidable": reason.avoidable,
    }


def observed_json(totals: Totals) -> dict[str, Any] | None:
    """Observed usage beside the predicted one of the same requests; None if the log has none."""
    seen = totals.observed
    if seen is None:
        return None
    known = totals.observed_money.currency is not None and not totals.observed_unpriced
    charge = _charge_json(totals.observed_money.total()) if known else None
    return {
        "requests": seen.requests,
        "usage": dict(seen.observed),
        "charge": charge,
        "predicted_minus_observed": seen.difference(),
        "explained": [
            {
                "cause": gap.cause,
                "requests": gap.requests,
                "tokens": gap.tokens,
                "cost": money_text(gap.cost),
            }
            for gap in totals.gaps.causes()
        ],
    }


def row_json(scenario: str, row: LedgerRow) -> dict[str, Any]:
    """One request under one scenario, as `--per-request` prints it."""
    paid, outcome = row.charge, row.outcome
    charge: dict[str, Any] = {"total": None}
    if paid is not None:
        charge = {"currency": paid.currency, "total": decimal_string(paid.total)}
        if paid.low != paid.total or paid.high != paid.total:
            charge["low"] = decimal_string(paid.low)
            charge["high"] = decimal_string(paid.high)
    return {
        "scenario": scenario,
        "request_id": row.request.request_id,
        "session_id": row.request.session_id,
        "arrival_s": row.request.arrival_us / 1_000_000,
        "model": None if row.model is None else row.model.model,
        "status": outcome.status,
        "prompt_tokens": row.usage.prompt_tokens,
        "usage": row.usage.as_dict(),
        "hit_tokens": outcome.hit_tokens,
        "charge": charge,
        "without_cache": money_text(row.without_cache),
        "reason": outcome.explanation.reason,
        "candidates": list(outcome.explanation.candidates),
        "evidence": dict(outcome.explanation.evidence),
        "misses": [
            {"reason": reason, "tokens": tokens, "cost": money_text(cost)}
            for reason, tokens, cost in merged(row)
        ],
    }
