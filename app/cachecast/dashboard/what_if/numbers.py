"""What the page shows of the documents of `whatif --json`: plain functions."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from cachecast import output
from cachecast.dashboard import wording
from cachecast.dashboard.theme import CHARGES, CLASS_COLOURS, CLASS_OF
from cachecast.dashboard.tile import Tile
from cachecast.dashboard.work import Answer

AS_IT_IS = "As it is"
UNCHANGED = "unchanged"

Row = dict[str, Any]


def changed(answer: Answer) -> Row | None:
    """The one scenario of an answer; None where only the baseline was asked for."""
    scenarios = answer["scenarios"]
    return scenarios[0] if scenarios else None


def as_it_is(answer: Answer) -> Answer:
    """The answer without its change: the baseline alone."""
    return {**answer, "scenarios": []}


def row_of(name: str, change: str, answer: Answer) -> Row:
    """One scenario in raw numbers, as it is exported. Money as text, unknown as None."""
    baseline, found = answer["baseline"], changed(answer)
    doc = baseline if found is None else found
    charge, delta = doc["charge"], None if found is None else found["delta"]
    times = doc.get("ttft_s")
    prompt = doc["hit_tokens"] + doc["prefill_tokens"]
    return {
        "scenario": name,
        "change": change,
        "model": doc["model"],
        "currency": None if charge is None else charge["currency"],
        "charge": None if charge is None else charge["total"],
        "charge_change": None if delta is None else delta["charge"],
        "charge_change_share": None if found is None else _share_of(found, baseline),
        "hit_tokens": doc["hit_tokens"],
        "prefill_tokens": doc["prefill_tokens"],
        "hit_share": doc["hit_tokens"] / prompt if prompt else None,
        "sessions_better": None if found is None else found["sessions_better"],
        "sessions_worse": None if found is None else found["sessions_worse"],
        "share_worse": None if found is None else found["share_worse"],
        "ttft_p50_s": None if times is None else times["p50"],
        "ttft_p99_s": None if times is None else times["p99"],
    }


def _share_of(found: Row, baseline: Row) -> float | None:
    moved, charge = found["delta"]["charge"], baseline["charge"]
    if moved is None or charge is None or not Decimal(charge["total"]):
        return None
    return float(Decimal(moved) / Decimal(charge["total"]))


def tiles(answer: Answer) -> list[Tile]:
    """Money, hits, tokens to prefill, who loses, and the first token of own servers."""
    row, found, baseline = row_of("", "", answer), changed(answer), answer["baseline"]
    was = row_of("", "", as_it_is(answer))
    charge = wording.money(row["charge"], row["currency"])
    made = [
        Tile(
            "Charge", charge, help=_CHARGE_HELP, delta=_money_delta(row), less_is_good=True,
        ),
        Tile(
            "Read from the cache", wording.share(row["hit_share"]),
            help=f"{wording.tokens(row['hit_tokens'])} hit tokens of the log's own requests",
            delta=None if found is None else _points(row["hit_share"], was["hit_share"]),
            less_is_good=False,
        ),
        Tile(
            "Left to prefill", wording.short_tokens(row["prefill_tokens"]),
            help=f"{wording.tokens(row['prefill_tokens'])} prompt tokens that no cache had",
            delta=None if found is None else _signed_tokens(found["delta"]["prefill_tokens"]),
            less_is_good=True,
        ),
    ]  # fmt: skip
    if found is not None and found["share_worse"] is not None:
        worse = wording.counted(found["sessions_worse"], "session")
        made.append(
            Tile(
                "Worse off", wording.share(found["share_worse"]),
                help=f"{worse} of {wording.tokens(baseline['sessions'])} pay more than before",
            )
        )  # fmt: skip
    if row["ttft_p50_s"] is not None:
        slow = f"99th percentile {wording.seconds(row['ttft_p99_s'])}"
        median = wording.seconds(row["ttft_p50_s"])
        made.append(Tile("Time to first token", median, help=f"Predicted median; {slow}"))
    return made


_CHARGE_HELP = "All requests under the scenario, with writes, pings and summaries paid"


def _money_delta(row: Row) -> str | None:
    if row["charge_change"] is None:
        return None
    moved = Decimal(row["charge_change"])
    if not moved:
        return UNCHANGED
    share = row["charge_change_share"]
    part = "" if share is None else f" ({100 * share:+.1f} %)"
    sign = "+" if moved > 0 else ""
    return f"{sign}{wording.money(moved, row['currency'])}{part}"


def _points(now: float | None, before: float | None) -> str | None:
    if now is None or before is None:
        return None
    return UNCHANGED if now == before else f"{100 * (now - before):+.1f} points"


def _signed_tokens(moved: int) -> str:
    if not moved:
        return UNCHANGED
    return f"{'+' if moved > 0 else ''}{wording.short_tokens(moved)}"


def sessions(answer: Answer) -> list[Row]:
    """How many sessions pay less, the same and more; empty where that is not known."""
    found, whole = changed(answer), answer["baseline"].get("sessions")
    if found is None or found["sessions_worse"] is None or not whole:
        return []
    better, worse = found["sessions_better"], found["sessions_worse"]
    counts = (("pay less", better), ("pay the same", whole - better - worse), ("pay more", worse))
    return [
        {
            "side": side, "order": number, "sessions": count, "share": count / whole,
            "text": f"{side}: {wording.tokens(count)} ({wording.share(count / whole)})",
        }
        for number, (side, count) in enumerate(counts)
        if count
    ]  # fmt: skip


def charges_by_class(rows: Sequence[tuple[str, Answer]]) -> list[Row]:
    """For the bars side by side: each scenario's charge by class, in the baseline's currency."""
    made = []
    for order, (name, answer) in enumerate(rows):
        doc = changed(answer) or answer["baseline"]
        charge, base = doc["charge"], answer["baseline"]["charge"]
        if charge is None or base is None or charge["currency"] != base["currency"]:
            continue
        parts = {CLASS_OF[key]: charge[key] for key in CHARGES if Decimal(charge.get(key, 0))}
        whole = wording.money(charge["total"], charge["currency"])
        made += [
            {
                "scenario": name, "order": order, "class": kind, "amount": float(amount),
                "text": wording.money(amount, charge["currency"]), "whole": whole,
                "total": float(charge["total"]), "rank": _RANKS.get(kind, 0),
            }
            for kind, amount in (parts or {"GPUs": charge["total"]}).items()
        ]  # fmt: skip
    return made


_RANKS = {kind: rank for rank, kind in enumerate(CLASS_COLOURS)}


def table(rows: Sequence[Row]) -> list[Row]:
    """The rows in words, money with the same decimals in each column; below a scenario's name
    stands what it changes."""
    currencies = [row["currency"] or "" for row in rows]
    base = currencies[0] if currencies else ""
    same = [
        row["charge"] if own == base else None for row, own in zip(rows, currencies, strict=True)
    ]
    charges = output.money_column(same, base)
    moved = output.money_column([row["charge_change"] for row in rows], base)
    timed = any(row["ttft_p50_s"] is not None for row in rows)
    made = []
    for i, row in enumerate(rows):
        other = row["charge"] is not None and currencies[i] != base
        made.append(
            {
                "Scenario": _two_lines(row["scenario"], row["change"]),
                "Charge": wording.money(row["charge"], currencies[i]) if other else charges[i],
                "Change": _two_lines(
                    _signed(moved[i], row["charge_change"]), _percent(row["charge_change_share"])
                ),
                "Read": wording.share(row["hit_share"]),
                "To prefill": wording.short_tokens(row["prefill_tokens"]),
                "Better": _maybe(row["sessions_better"]),
                "Worse": _maybe(row["sessions_worse"]),
                **({"First token p50": _time(row["ttft_p50_s"])} if timed else {}),
            }
        )
    return made


def _two_lines(first: str, second: str) -> str:
    return first if second in ("", first) else f"{first}\n{second}"


def _signed(text: str, change: Decimal | str | None) -> str:
    if change is None:
        return ""
    return f"+{text}" if Decimal(change) > 0 else text


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:+.1f} %"


def _maybe(count: int | None) -> str:
    return "" if count is None else wording.tokens(count)


def _time(value: float | None) -> str:
    return "" if value is None else wording.seconds(value)


def assumptions(answer: Answer) -> list[str]:
    """What the scenario rests on: first what its changes take for granted, then the rest."""
    base = answer["baseline"]["assumptions"]
    found = changed(answer)
    own = base if found is None else found["assumptions"]
    new = [sentence for sentence in own if sentence not in base]
    return [*new, *(sentence for sentence in own if sentence in base)]


def warnings(answer: Answer) -> list[str]:
    """What a reader of the numbers must not miss."""
    found, baseline = changed(answer), answer["baseline"]
    doc = found or baseline
    made = []
    if doc["charge"] is None:
        what = "the fleet names no price of a GPU hour" if doc["model"] == "fleet" else _NO_PRICE
        made.append(f"No charge: {what}.")
    elif found is not None and found["delta"]["charge"] is None:
        made.append(
            f"The change in money is not known: the log as it is costs {_in(baseline)}, the "
            f"scenario {_in(found)}, and not the same requests have a price in one currency."
        )
    left = doc.get("unpriced_requests")
    if left and doc["charge"] is not None:
        whole = wording.tokens(doc["requests"])
        made.append(f"Partial: {wording.counted(left, 'request')} of {whole} have no price.")
    interval = None if doc["charge"] is None else doc["charge"].get("interval")
    if interval is not None:
        low, high = (wording.money(interval[e], doc["charge"]["currency"]) for e in ("low", "high"))
        made.append(f"The charge lies between {low} and {high}: the log does not tell every class.")
    if doc.get("rejected"):
        made.append(f"{wording.counted(doc['rejected'], 'request')} never fit on a server.")
    return made


_NO_PRICE = "no request names a model that has a price"


def _in(doc: Row) -> str:
    charge = doc["charge"]
    return "no price" if charge is None else wording.money(charge["total"], charge["currency"])
