"""What the Misses page shows above a session, out of `why --json`, `bill --json` and a run."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from cachecast.dashboard import wording

Row = dict[str, Any]

EVERYTHING, AVOIDABLE = "every reason", "avoidable reasons"
_DAYS = 45  # more days than these are drawn as weeks
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def currency_of(answer: Row) -> str | None:
    """The currency of a bill or of an answer of `why`; None where nothing has a price."""
    charge = answer["charge"]
    found: str | None = None if charge is None else charge["currency"]
    return found


def headline(answer: Row) -> str:
    """What could have been avoided, of what was paid, in one sentence; plain text."""
    costs = [miss["cost"] for miss in answer["misses"] if miss["avoidable"]]
    charge = answer["charge"]
    if charge is None or None in costs:
        missed = sum(miss["tokens"] for miss in answer["misses"] if miss["avoidable"])
        return f"{wording.counted(missed, 'token')} that could have been read were not."
    lost = sum((Decimal(cost) for cost in costs), Decimal(0))
    total = Decimal(charge["total"])
    if not lost:
        return "Nothing avoidable was missed."
    of = f", {wording.share(float(lost / total))} of the charge" if total else ""
    return f"{wording.money(lost, charge['currency'])} was lost to avoidable misses{of}."


def reasons(answer: Row) -> list[Row]:
    """One row a reason, the dearest first; amounts are tokens where nothing has a price."""
    currency = currency_of(answer)
    total = Decimal(answer["charge"]["total"]) if answer["charge"] is not None else Decimal(0)
    rows = []
    for miss in answer["misses"]:
        cost = miss["cost"]
        priced = currency is not None and cost is not None
        part = wording.part(Decimal(cost) / total) if priced and total else ""
        if currency is not None and not priced:
            amount, text = 0.0, "no price"
        elif priced:
            amount, text = float(cost), wording.money(cost, currency)
        else:
            amount, text = float(miss["tokens"]), wording.short_tokens(miss["tokens"])
        rows.append(
            {
                "reason": wording.words(miss["reason"]),
                "amount": amount,
                "text": text,
                "share": part,
                "label": f"{text} · {part}" if part else text,
                "kind": kind(miss["avoidable"]),
                "tokens": wording.tokens(miss["tokens"]),
                "requests": wording.tokens(miss["requests"]),
                "causes": _causes(miss),
            }
        )
    return rows


def kind(avoidable: bool) -> str:
    """What `charts.misses.reason_bars` colours a reason by."""
    return "avoidable" if avoidable else "not avoidable"


def _causes(miss: Row) -> str:
    """The three dearest finer causes; empty where the reason says it all."""
    found = [cause["cause"] for cause in miss.get("causes", ())]
    if set(found) <= {miss["reason"]}:
        return ""
    said = ["not decided" if name == "unknown" else wording.words(name) for name in found[:3]]
    return ", ".join(said) + (" …" if len(found) > len(said) else "")


def sessions(answer: Row) -> list[Row]:
    """The sessions of `why --json`, those that lost most to avoidable misses first."""
    rows = [row for row in answer["by"]["session"] if row["tokens"]]
    return sorted(rows, key=_lost)


def _lost(row: Row) -> tuple[Decimal, Decimal, int]:
    avoidable, cost = (Decimal(row[name] or 0) for name in ("avoidable_cost", "cost"))
    return -avoidable, -cost, -row["tokens"]


def searched(rows: Sequence[Row], wanted: str) -> list[Row]:
    """The sessions whose id holds the text, however it is written; all for an empty one."""
    text = wanted.strip().casefold()
    return [row for row in rows if text in session_name(row["session"]).casefold()]


def session_name(session: str | None) -> str:
    """A session's id as it is shown."""
    return "no session stated" if session is None else session


def heat_choices(rows: Sequence[Row]) -> list[str]:
    """What the heat map may be drawn for: avoidable ones, all, then each reason by its cost."""
    sums: dict[str, Decimal] = {}
    for row in rows:
        sums[row["reason"]] = sums.get(row["reason"], Decimal(0)) + (row["cost"] or Decimal(0))
    named = sorted(sums, key=lambda name: -sums[name])
    return [*([AVOIDABLE] if any(row["avoidable"] for row in rows) else []), EVERYTHING, *named]


def heat(rows: Sequence[Row], choice: str, currency: str | None, relative: bool) -> list[Row]:
    """One cell an hour with misses: `day`, `hour`, `amount`, and words for it, in order of time.

    `day` is a date, or a number of days from the log's zero; days of a long log are weeks.
    """
    kept = [
        row
        for row in rows
        if choice == EVERYTHING
        or (row["avoidable"] if choice == AVOIDABLE else row["reason"] == choice)
    ]
    days = {row["hour"].date() for row in rows}
    weekly = bool(days) and (max(days) - min(days)).days >= _DAYS
    cells: dict[tuple[str, int], Row] = {}
    for row in kept:
        key = (_day(row["hour"], relative, weekly), row["hour"].hour)
        cell = cells.setdefault(
            key, {"cost": Decimal(0), "tokens": 0, "requests": 0, "reasons": {}, "at": row["hour"]}
        )
        cell["cost"] += row["cost"] or 0
        cell["tokens"] += row["tokens"]
        cell["requests"] += row["requests"]
        amount = row["tokens"] if currency is None else row["cost"] or 0
        cell["reasons"][row["reason"]] = cell["reasons"].get(row["reason"], 0) + amount
    return [_cell(key, cell, currency) for key, cell in cells.items()]


def _cell(key: tuple[str, int], cell: Row, currency: str | None) -> Row:
    dearest = max(cell["reasons"], key=cell["reasons"].__getitem__)
    text = wording.short_tokens(cell["tokens"])
    return {
        "day": key[0],
        "hour": key[1],
        "amount": float(cell["tokens"] if currency is None else cell["cost"]),
        "text": f"{text} tokens" if currency is None else wording.money(cell["cost"], currency),
        "tokens": wording.tokens(cell["tokens"]),
        "requests": wording.tokens(cell["requests"]),
        "most": wording.words(dearest),
    }


def _day(at: datetime, relative: bool, weekly: bool) -> str:
    if relative:
        days = (at - _EPOCH).days
        return f"days {days // 7 * 7} to {days // 7 * 7 + 6}" if weekly else f"day {days}"
    if weekly:
        at -= timedelta(days=at.weekday())
        return f"week of {at:%-d %b %Y}"
    return f"{at:%a %-d %b}"
