"""The ways from today's bill to a scenario's, as bars: class by class, and change by change."""

from collections.abc import Sequence
from decimal import Decimal

from cachecast.dashboard import wording
from cachecast.dashboard.theme import CHARGES, CLASS_OF
from cachecast.dashboard.what_if.numbers import Row, changed
from cachecast.dashboard.work import Answer


def waterfall(answer: Answer) -> list[Row]:
    """Steps from today's bill to the scenario's: `step`, `start`, `end`, `class`, `text`.

    Class by class; with own servers the API's bill falls to nothing and the GPUs come. Empty where
    the two have no common currency or no price.
    """
    found, before = changed(answer), answer["baseline"]["charge"]
    if found is None or found["delta"]["charge"] is None:
        return []
    after, currency = found["charge"], before["currency"]
    if after is None:  # nothing was left to pay for
        after = {"total": "0"}
    own = "fresh" not in after
    steps = [
        (name, Decimal(after.get(name, 0)) - Decimal(before[name])) for name in CHARGES
    ]  # fmt: skip
    at = Decimal(before["total"])
    rows = [_bar("as it is", Decimal(0), at, "total", wording.money(at, currency))]
    for name, moved in [*steps, ("GPUs", Decimal(after["total"]) if own else Decimal(0))]:
        if moved:
            sign = "+" if moved > 0 else ""
            kind = CLASS_OF.get(name, "total")
            label = CLASS_OF.get(name, name)
            text = f"{sign}{wording.money(moved, currency)}"
            rows.append(_bar(label, at, at + moved, kind, text))
            at += moved
    total = Decimal(after["total"])
    assert at == total, f"the steps lead to {at}, the charge is {total}"
    return [*rows, _bar("with changes", Decimal(0), total, "total", wording.money(total, currency))]


def _bar(step: str, start: Decimal, end: Decimal, kind: str, text: str) -> Row:
    return {
        "step": step, "start": float(start), "end": float(end), "class": kind, "text": text,
        "top": float(max(start, end)),
    }  # fmt: skip


def by_change(steps: Sequence[str], answers: Sequence[Answer]) -> list[Row]:
    """The same way change by change: each answer is of the changes before it and one more.

    Empty where one of them has no charge in the currency of today's bill.
    """
    before = answers[0]["baseline"]["charge"]
    found = [changed(answer) for answer in answers]
    if any(one is None or one["delta"]["charge"] is None for one in found):
        return []
    currency, at = before["currency"], Decimal(before["total"])
    rows = [_bar("as it is", Decimal(0), at, "total", wording.money(at, currency))]
    for step, one in zip(steps, found, strict=True):
        assert one is not None
        moved = Decimal(before["total"]) + Decimal(one["delta"]["charge"]) - at
        sign = "+" if moved > 0 else ""
        side = "pay more" if moved > 0 else "pay less"
        text = f"{sign}{wording.money(moved, currency)}"
        rows.append(_bar(step.rpartition(",")[2], at, at + moved, side, text))
        at += moved
    return [*rows, _bar("with changes", Decimal(0), at, "total", wording.money(at, currency))]
