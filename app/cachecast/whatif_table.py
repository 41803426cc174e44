"""What-ifs as tables: money, hits and prefill of each change, and who wins and loses."""

from collections.abc import Iterator, Sequence
from decimal import Decimal

from rich import box
from rich.markup import escape
from rich.table import Table

from cachecast.output import counted, money_column, notes, print_table, share, tokens
from cachecast.whatif_job import OwnFleet, WhatIf
from cachecast.whatif_report import fleet_delta
from cachecast_pricing.money import to_decimal
from cachecast_sim.fleet.summary import spread
from cachecast_sim.whatif.replay import Replay

Found = Sequence[WhatIf | OwnFleet]

_WIDE = ("charge", "change", "", "read", "hit tokens", "to prefill", "sessions better", "worse")
_NARROW = ("charge", "change", "read", "worse")


def print_whatifs(baseline: Replay, found: Found) -> None:
    """One row a change under the replayed baseline; assumptions on stderr."""
    print_table(*(_table(baseline, found, names) for names in (_WIDE, _NARROW)))
    for one in found:
        if isinstance(one, OwnFleet):
            print_table(_times(one))
    for replay in (one.replay for one in found if isinstance(one, WhatIf)):
        if replay.served_requests:
            print_table(_served(replay, baseline))
    sentence = verdict(baseline, found)
    if sentence is not None:
        print(f"{sentence}\n")
    notes.print("Assumed:", style="dim")
    for line in _assumed(baseline, found):
        notes.print(line, style="dim", markup=False)


def _table(baseline: Replay, found: Found, names: Sequence[str]) -> Table:
    totals = baseline.totals
    title = (
        f"{escape(baseline.scenario.name)}: {counted(totals.requests, 'request')}, "
        f"{counted(totals.prompt_tokens, 'prompt token')}, "
        f"{counted(len(baseline.sessions), 'session')}"
    )
    table = Table(title=title, title_justify="left", header_style="bold", box=box.SIMPLE_HEAD)
    table.add_column("change", overflow="fold")
    for name in names:
        table.add_column(name, justify="right", no_wrap=True)
    cells = _cells(baseline, found)
    best = _best(found)
    for i, name in enumerate(("(replayed as it is)", *(escape(one.name) for one in found))):
        table.add_row(name, *(cells[n][i] for n in names), style="green" if i == best else None)
    return table


def _best(found: Found) -> int | None:
    """The row of the change that saves most, if one saves anything."""
    deltas = [one.difference.charge for one in found if isinstance(one, WhatIf)]
    known = [delta for delta in deltas if delta is not None]
    if not known or min(known) >= 0:
        return None
    names = [isinstance(one, WhatIf) and one.difference.charge == min(known) for one in found]
    return 1 + names.index(True)


def verdict(baseline: Replay, found: Found) -> str | None:
    """Which change saves most, and for whom, in one sentence; None where no money is known."""
    changed = [one for one in found if isinstance(one, WhatIf)]
    if not any(one.difference.charge is not None for one in changed):
        return None
    best = _best(found)
    if best is None:
        return "No change saves anything on this log."
    one = found[best - 1]
    assert isinstance(one, WhatIf)
    moved = one.difference
    whole = baseline.totals.money.total
    amounts = [_decimal(-(moved.charge or 0)), _decimal(whole)]
    saved, paid = money_column(amounts, baseline.totals.money.currency or "")
    lead = "saves" if len(found) == 1 else "saves most:"
    return (
        f"{one.name} {lead} {saved} of {paid} ({_share(-(moved.charge or 0), whole)}); of "
        f"{counted(moved.sessions, 'session')} {moved.better or 0:,} "
        f"{'pays' if moved.better == 1 else 'pay'} less and {moved.worse or 0:,} more."
    )


def _cells(baseline: Replay, found: Found) -> dict[str, list[str]]:
    currency = baseline.totals.money.currency or ""
    whole = baseline.totals.money.total if baseline.totals.priced else None
    deltas = [_delta(one, baseline) for one in found]
    ratios = [_ratio(baseline), *(_ratio(one) for one in found)]
    return {
        "charge": _charges(baseline, found, currency),
        "change": ["", *money_column([_decimal(d) for d in deltas], currency)],
        "": ["", *(_share(d, whole) for d in deltas)],
        "read": [share(ratio) for ratio in ratios],
        "hit tokens": [tokens(_hits(one)) for one in (baseline, *found)],
        "to prefill": [tokens(_prefill(one)) for one in (baseline, *found)],
        "sessions better": ["", *(_sessions(one, "better") for one in found)],
        "worse": ["", *(_sessions(one, "worse") for one in found)],
    }


def _delta(one: WhatIf | OwnFleet, baseline: Replay) -> int | None:
    return one.difference.charge if isinstance(one, WhatIf) else fleet_delta(one, baseline)


def _charges(baseline: Replay, found: Found, currency: str) -> list[str]:
    """Charges in the baseline's currency in one column; others beside them in their own."""
    amounts = [_amount(one) for one in (baseline, *found)]
    same = [a[0] if a is not None and a[1] == currency else None for a in amounts]
    texts = money_column(same, currency)
    for i, amount in enumerate(amounts):
        if amount is not None and amount[1] != currency:
            texts[i] = money_column([amount[0]], amount[1])[0]
    return texts


def _amount(one: Replay | WhatIf | OwnFleet) -> tuple[Decimal, str] | None:
    if isinstance(one, OwnFleet):
        return one.run.cost()
    totals = (one.replay if isinstance(one, WhatIf) else one).totals
    return (to_decimal(totals.money.total), totals.money.currency or "") if totals.priced else None


def _decimal(picounits: int | None) -> Decimal | None:
    return None if picounits is None else to_decimal(picounits)


def _share(delta: int | None, whole: int | None) -> str:
    return share(delta / whole if delta is not None and whole else None)


def _hits(one: Replay | WhatIf | OwnFleet) -> int:
    if isinstance(one, OwnFleet):
        return one.run.totals.hit_tokens
    return (one.replay if isinstance(one, WhatIf) else one).hit_tokens


def _prefill(one: Replay | WhatIf | OwnFleet) -> int:
    if isinstance(one, OwnFleet):
        return one.run.totals.prompt_tokens - one.run.totals.hit_tokens
    return (one.replay if isinstance(one, WhatIf) else one).prefill_tokens


def _ratio(one: Replay | WhatIf | OwnFleet) -> float | None:
    whole = _hits(one) + _prefill(one)
    return _hits(one) / whole if whole else None


def _sessions(one: WhatIf | OwnFleet, side: str) -> str:
    if isinstance(one, OwnFleet) or one.difference.better is None:
        return "–"
    if side == "better":
        return tokens(one.difference.better)
    return f"{tokens(one.difference.worse)} ({share(one.difference.share_worse)})"


def _times(one: OwnFleet) -> Table:
    """Predicted time to the first token on servers of one's own."""
    table = Table(
        title=f"{escape(one.name)}: predicted time to first token, seconds",
        title_justify="left", header_style="bold", box=box.SIMPLE_HEAD,
    )  # fmt: skip
    found = spread(one.run.totals.ttft_ns)
    names = ("mean", "p50", "p90", "p99")
    for name in names:
        table.add_column(name, justify="right")
    if found is not None:
        table.add_row(*(f"{getattr(found, name):.3f}" for name in names))
    return table


def _served(replay: Replay, baseline: Replay) -> Table:
    """What a cache in front of the provider answered."""
    table = Table(
        title=f"{escape(replay.scenario.name)}: answered without the provider",
        title_justify="left", header_style="bold", box=box.SIMPLE_HEAD,
    )  # fmt: skip
    for name in ("requests", "of the log", "prompt tokens", "output tokens"):
        table.add_column(name, justify="right")
    part = replay.served_requests / baseline.totals.requests
    table.add_row(
        tokens(replay.served_requests), share(part), tokens(replay.served_tokens),
        tokens(replay.served_output_tokens),
    )  # fmt: skip
    return table


def _assumed(baseline: Replay, found: Found) -> Iterator[str]:
    """Each sentence once, behind the changes it belongs to if not to all."""
    for sentence in baseline.assumptions:
        yield f"  • {sentence}"
    for one in found:
        own = one.run.assumptions() if isinstance(one, OwnFleet) else one.replay.assumptions
        for sentence in own:
            if sentence not in baseline.assumptions:
                yield f"  • {one.name}: {sentence}"
