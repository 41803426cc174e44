"""What the page Own servers shows, out of a fleet's `run.json`, a curve and a bill."""

from decimal import Decimal
from typing import Any

from cachecast.dashboard import wording
from cachecast.dashboard.misses_numbers import kind
from cachecast.dashboard.tile import Tile
from cachecast.fleet_report import break_even_json
from cachecast.fleet_table import duration
from cachecast_pricing.rules.reasons import UNAVOIDABLE

Row = dict[str, Any]
QUANTILES = ("p50", "p90", "p99")


def rejected(fleet: Row) -> str | None:
    """What has to be said before any number; None if every request was served."""
    count = fleet["rejected"]
    if not count:
        return None
    if count + fleet["skipped"] == fleet["requests"]:
        return f"All {wording.counted(count, 'request')} were rejected: {_TOO_SMALL}"
    return (
        f"{wording.counted(count, 'request')} of {wording.tokens(fleet['requests'])} "
        f"{'was' if count == 1 else 'were'} rejected: {_TOO_SMALL} The numbers below are of the "
        "others."
    )


_TOO_SMALL = "a server's cache is too small for such a prompt. Take more memory or larger GPUs."


def tiles(fleet: Row) -> list[Tile]:
    """Served, hits, the two latencies and the GPUs' cost."""
    served = wording.tokens(fleet["completed"])
    return [
        Tile(
            "Prompt tokens hit", wording.share(fleet["token_hit_ratio"]),
            f"{wording.short_tokens(fleet['hit_tokens'])} of "
            f"{wording.short_tokens(fleet['prompt_tokens'])} tokens, {served} requests",
            "Prompt tokens that the servers found in their own caches",
        ),
        _latency(
            "Time to first token, p90", fleet["ttft_s"], "From arrival to the first token",
            "no request was served",
        ),
        _latency(
            "Between tokens, p90", fleet["itl_s"], "Between two tokens of an answer",
            "no answer has a second token",
        ),
        Tile(
            "GPU cost", _cost(fleet), f"{_hours(fleet['gpu_hours'])} GPU hours, "
            f"{duration(fleet['makespan_s'])} from first arrival to last end",
            "All GPUs are paid from the first arrival to the last end, busy or not",
        ),
    ]  # fmt: skip


def _hours(hours: float) -> str:
    return f"{hours:,.2f}" if hours >= 0.1 else f"{hours:.2g}"


def _latency(label: str, spread: Row | None, meaning: str, unknown: str) -> Tile:
    if spread is None:
        return Tile(label, "–", unknown, meaning)
    return Tile(
        label, duration(spread["p90"]), f"p50 {duration(spread['p50'])}, "
        f"p99 {duration(spread['p99'])}, mean {duration(spread['mean'])}", meaning,
    )  # fmt: skip


def _cost(fleet: Row) -> str:
    cost = fleet["cost"]
    return "no price" if cost is None else wording.money(cost["total"], cost["currency"])


def bill_tile(bill: Row) -> Tile:
    """What the same log costs at the API."""
    charge = bill["charge"]
    if charge is None:
        return Tile("API bill", "no price", "choose a model under “Rules and prices”")
    amount = wording.money(charge["total"], charge["currency"])
    return Tile("API bill", amount, f"the same log at {bill['name']}")


def costs(fleet: Row, bill: Row) -> list[Row]:
    """GPUs and API side by side, where both have a price in one currency; else nothing."""
    cost, charge = fleet["cost"], bill["charge"]
    if cost is None or charge is None or cost["currency"] != charge["currency"]:
        return []
    amounts = (
        ("own servers", "servers", cost["total"]),
        (f"API: {bill['name']}", "API", charge["total"]),
    )
    return [
        {
            "name": name, "kind": kind, "amount": float(amount),
            "text": wording.money(amount, cost["currency"]),
        }
        for name, kind, amount in amounts
    ]  # fmt: skip


def break_even(fleet: Row, bill: Row, traffic: float) -> tuple[str, str, float | None]:
    """(the multiple, a sentence, the traffic to simulate) of a fleet at `traffic` times the log's.

    The last is None where nothing is left to simulate.
    """
    found = break_even_json(fleet, bill)
    if found["traffic"] is None:
        return "unknown", f"Unknown: {found['unknown']}.", None
    more = Decimal(found["traffic"])
    times = Decimal(str(traffic)) * more
    shown = f"{_digits(times)} ×"
    of_log = "this log's traffic" if traffic == 1 else "the log's own traffic"
    if abs(more - 1) <= Decimal("0.02"):
        return shown, (
            f"Simulated: at {_digits(times)} times {of_log} these GPUs cost what the API bills, "
            f"with a TTFT of {_p90(fleet)} at p90."
        ), None  # fmt: skip
    if more < 1:
        return shown, (
            f"Own servers are cheaper. They stay so until the traffic falls to {_digits(times)} "
            f"times {of_log}."
        ), float(round(times, 4))  # fmt: skip
    return shown, (
        f"The API is cheaper. At {_digits(times)} times {of_log} it would bill what these GPUs "
        "cost, if they can carry so much: simulate it."
    ), float(round(times, 4))  # fmt: skip


def _p90(fleet: Row) -> str:
    return "unknown" if fleet["ttft_s"] is None else duration(fleet["ttft_s"]["p90"])


def _digits(value: Decimal) -> str:
    """Three of them."""
    return f"{float(value):.3g}" if value < 1000 else wording.tokens(round(value))


def distribution(found: Row, name: str, spread: Row | None) -> tuple[list[Row], list[Row]]:
    """The curve (share, milliseconds) and its named quantiles; of `distributions` in run.json.

    A logarithmic axis has no place for 0 ms, which a hit of everything never takes either.
    """
    values = found[f"{name}_s"]
    if values is None or spread is None:
        return [], []
    curve = [
        {"share": share, "ms": 1000 * value}
        for share, value in zip(found["shares"], values, strict=True)
        if value > 0
    ]
    marks = [
        {
            "share": int(name[1:]) / 100, "ms": 1000 * spread[name],
            "text": f"{name} {duration(spread[name])}",
        }
        for name in QUANTILES
    ]  # fmt: skip
    return curve, marks


def misses(fleet: Row) -> list[Row]:
    """Tokens by reason, the most first, with their share of all prompt tokens, as rows of
    `charts.misses.reason_bars`."""
    return [_missed(miss, wording.part(miss["tokens"] / fleet["prompt_tokens"]))
            for miss in fleet["misses"]]  # fmt: skip


def _missed(miss: Row, share: str) -> Row:
    text = wording.short_tokens(miss["tokens"])
    return {
        "reason": wording.words(miss["reason"]), "amount": float(miss["tokens"]),
        "text": text, "share": share, "label": f"{text} · {share}",
        "kind": kind(miss["reason"] not in UNAVOIDABLE),
        "tokens": wording.tokens(miss["tokens"]), "requests": wording.tokens(miss["requests"]),
        "causes": "",
    }  # fmt: skip


def marks(cache: Row, servers: int) -> list[int]:
    """Tokens that one server and all of them together can hold."""
    one = cache["blocks_per_server"] * cache["block_tokens"]
    return [one] if servers == 1 else [one, one * servers]


def marked(rows: list[Row]) -> list[Row]:
    """The rows of a curve at the fleet's own sizes, named."""
    names = ("one server", "all servers")
    return [
        row | {"text": f"{name}: {wording.share(row['token_hit_ratio'])}"}
        for name, row in zip(names, rows, strict=False)
        if row["token_hit_ratio"] is not None
    ]
