"""What the Overview shows, out of the documents of `bill`, `why` and a run: plain functions."""

from decimal import Decimal
from typing import Any

from cachecast.dashboard import wording
from cachecast.dashboard.opened import Opened
from cachecast.dashboard.theme import CHARGES, CLASS_OF
from cachecast.dashboard.tile import Tile

_TOP = 3

Row = dict[str, Any]


def about(opened: Opened) -> str:
    """What the log is, in one line; its names are other people's words."""
    facts = opened.facts
    models = facts["models"]
    named = ", ".join(map(str, models[:4])) + (f" and {len(models) - 4} more" * (len(models) > 4))
    parts = [
        wording.counted(facts["rows"], "request"),
        wording.counted(facts["sessions"], "session"),
        named or "no model named",
        wording.period(facts["period"]),
        f"{facts['source_format']} log with {wording.words(facts['evidence'])}",
    ]
    return " · ".join(parts)


def tiles(bill: Row) -> list[Tile]:
    """Paid, saved and the two hit rates of one scenario of `bill --json`."""
    charge = bill["charge"]
    hits = Tile(
        "Tokens read", wording.share(bill["token_hit_ratio"]),
        f"{wording.tokens(bill['usage']['cache_read'])} of "
        f"{wording.tokens(bill['prompt_tokens'])} prompt tokens",
        "Prompt tokens billed at the read price, of all prompt tokens",
    )  # fmt: skip
    if charge is None:
        return [Tile("Charge", "no price", "no request names a model with a price"), hits]
    currency = charge["currency"]
    saved = Decimal(bill["net_saving"])
    plain = Decimal(bill["without_cache"])
    return [
        Tile("Charge", wording.money(charge["total"], currency), _between(charge), _CHARGE_HELP),
        Tile("Without a cache", wording.money(plain, currency), None, _WITHOUT_HELP),
        Tile(
            "Cache saved" if saved >= 0 else "Cache lost",
            wording.money(abs(saved), currency),
            f"{wording.share(float(abs(saved) / plain))} of it" if plain else None,
        ),
        hits,
        Tile(
            "Spend that hit", wording.share(bill["spend_hit_ratio"]),
            "of the charge is for requests that read something",
        ),
    ]  # fmt: skip


_CHARGE_HELP = "What the requests cost under the chosen rules and prices, writes included"
_WITHOUT_HELP = "The same requests with every prompt token at the plain input price"


def _between(charge: Row) -> str | None:
    if charge["interval"] is None:
        return None
    low, high = (wording.money(charge["interval"][end], charge["currency"]) for end in _ENDS)
    return f"between {low} and {high}"


_ENDS = ("low", "high")


def by_class(bill: Row) -> list[Row]:
    """The charge by class, the dearest first: class, money as text and number, share."""
    charge = bill["charge"]
    if charge is None:
        return []
    total = Decimal(charge["total"])
    rows = [
        {
            "class": CLASS_OF[name],
            "amount": float(charge[name]),
            "text": wording.money(charge[name], charge["currency"]),
            "share": wording.part(Decimal(charge[name]) / total) if total else "–",
        }
        for name in CHARGES
        if Decimal(charge[name])
    ]
    return sorted(rows, key=lambda row: -row["amount"])


def tokens_by_class(bill: Row) -> list[Row]:
    """Prompt and output tokens by class, for the bar beside the money."""
    usage = bill["usage"]
    written = sum(count for name, count in usage.items() if name.startswith("cache_write"))
    counts = {
        "read": usage["cache_read"], "written": written, "fresh": usage["fresh"],
        "output": usage["output"],
    }  # fmt: skip
    whole = sum(counts.values())
    return [
        {
            "class": name, "amount": count, "text": wording.short_tokens(count),
            "share": wording.part(count / whole),
        }
        for name, count in counts.items()
        if count
    ]  # fmt: skip


def findings(why: Row) -> list[str]:
    """The dearest avoidable reasons of `why --json`, a sentence each with its money."""
    charge = why["charge"]
    currency = None if charge is None else charge["currency"]
    sentences = []
    for miss in [miss for miss in why["misses"] if miss["avoidable"]][:_TOP]:
        what = SAID.get(miss["reason"], wording.words(miss["reason"]))
        cost = wording.money(miss["cost"], currency)
        part = ""
        if charge is not None and miss["cost"] is not None and Decimal(charge["total"]):
            of = float(Decimal(miss["cost"]) / Decimal(charge["total"]))
            part = f" ({wording.share(of)} of the charge)"
        times = wording.counted(miss["requests"], "time")
        missed = wording.counted(miss["tokens"], "token")
        sentences.append(f"**{wording.plain(cost)}**{part}: {what}, {times}, {missed}.")
    return sentences


# what happened, as the subject of a finding
SAID: dict[str, str] = {
    "too_many_markers": "requests asked for more cache markers than are allowed",
    "not_requested": "prompts asked for no caching",
    "concurrent_with_writer": "requests began while another was still writing the same prefix",
    "ttl_expired": "entries had expired before the next request came",
    "lookback_exceeded": "the entry lay further back than the provider looks",
    "evicted": "entries were evicted",
    "routed_elsewhere": "requests were routed to a server without the entry",
    "model_changed": "the same prefix was stored under another model",
    "account_changed": "the same prefix was stored under another account",
    "host_changed": "the same prefix was stored at another host",
    "tools_reordered": "tool definitions came in another order",
    "json_key_order": "JSON keys came in another order",
    "tools_changed": "tool definitions changed",
    "settings_changed": "settings that belong to the cache key changed",
    "volatile_value": "a time, an id or a counter in the prompt changed",
    "system_changed": "the system prompt changed",
    "media_changed": "an image or a document changed",
    "message_edited": "an earlier message was edited",
    "history_rewritten": "the history was rewritten",
}


def warnings(bill: Row) -> list[str]:
    """What a reader of the numbers must not miss."""
    found = []
    if bill["charge"] is None:
        found.append(
            "No request names a model that has a price: choose one under “Rules and prices”."
        )
    elif bill["unpriced_requests"]:
        left_out = wording.counted(bill["unpriced_requests"], "request")
        found.append(f"Partial: {left_out} of {wording.tokens(bill['requests'])} have no price.")
    return found
