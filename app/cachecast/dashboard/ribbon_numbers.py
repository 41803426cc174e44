"""The prefix ribbon of a session as plain rows: a bar a request, cut where its prompt is cut.

Input are the rows of `ribbon_file.session_rows`; money in them is integer picounits.
"""

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from cachecast.dashboard import wording
from cachecast.dashboard.theme import CLASS_OF
from cachecast_pricing.money import to_decimal
from cachecast_pricing.rules.reasons import UNAVOIDABLE

PAGE = 40  # requests that are drawn at once
_CUTS = 150  # a piece shorter than this part of the longest prompt is joined to its neighbour
_AGENT = 14  # characters of an agent's id behind its bars

Row = dict[str, Any]


def class_of(kind: str) -> str:
    """The class of a piece as the theme names it."""
    return CLASS_OF.get(kind, kind)


def by_class(row: Row) -> dict[str, int]:
    """Tokens of each class of the request; they sum to its prompt."""
    sums: dict[str, int] = {}
    start = 0
    for end, kind in zip(row["ends"], row["kinds"], strict=True):
        name = class_of(kind)
        sums[name] = sums.get(name, 0) + end - start
        start = end
    return sums


def lost(row: Row) -> int | None:
    """Picounits that the request lost to avoidable misses; None: no price."""
    costs = [
        cost
        for reason, cost in zip(row["miss_reasons"], row["miss_costs"], strict=True)
        if reason not in UNAVOIDABLE
    ]
    known = [cost for cost in costs if cost is not None]
    return sum(known) if len(known) == len(costs) else None


def missed(row: Row) -> tuple[int, int | None]:
    """Tokens and picounits of the request's own reason; (0, 0) for one that missed nothing."""
    tokens, costs = 0, []
    for reason, count, cost in zip(
        row["miss_reasons"], row["miss_tokens"], row["miss_costs"], strict=True
    ):
        if reason == row["reason"]:
            tokens += count
            costs.append(cost)
    known = [cost for cost in costs if cost is not None]
    return tokens, sum(known) if len(known) == len(costs) else None


def parted_at(row: Row) -> int | None:
    """Tokens before the place where the prompt parts from the earlier one; None: none is known."""
    finding = row["finding"] or {}
    place = finding.get("divergence")
    found = None if place is None else place["tokens"]
    if found is None:
        found = (finding.get("evidence") or {}).get("diverged_at_tokens")
    return found if isinstance(found, int) and found <= row["prompt_tokens"] else None


def pages(rows: Sequence[Row]) -> list[tuple[int, int]]:
    """Ranges [start, stop) of requests that are drawn at once."""
    return [(start, min(start + PAGE, len(rows))) for start in range(0, len(rows), PAGE)]


def page_label(rows: Sequence[Row], page: tuple[int, int], currency: str | None) -> str:
    """`41 to 80: $1.20 lost`."""
    start, stop = page
    costs = [lost(row) for row in rows[start:stop]]
    known = [cost for cost in costs if cost is not None]
    if currency is None or not known:
        return f"{start + 1} to {stop}"
    return f"{start + 1} to {stop}: {wording.money(to_decimal(sum(known)), currency)} lost"


def dearest(rows: Sequence[Row]) -> int:
    """The place of the request that lost most; else of the one that read least of its prompt."""
    amounts = [(lost(row) or 0, sum(row["miss_tokens"])) for row in rows]
    return max(range(len(rows)), key=amounts.__getitem__)


def segments(rows: Sequence[Row], page: tuple[int, int]) -> list[Row]:
    """What is drawn of the requests of a page: pieces with their place, class, reason, block.

    Neighbours that are alike are joined where they would be too thin to be seen, so that what is
    drawn has a bound; tokens are never lost.
    """
    drawn = rows[page[0] : page[1]]
    thin = max((row["prompt_tokens"] for row in drawn), default=0) // _CUTS
    found = []
    for number, row in enumerate(drawn, start=page[0] + 1):
        for start, end, kind, reason, first, last in _joined(row, thin):
            found.append(
                {
                    "n": number,
                    "start": start,
                    "end": end,
                    "class": class_of(kind),
                    "reason": "read from the cache" if reason is None else wording.words(reason),
                    "block": _blocks(row, first, last),
                    "tokens": wording.tokens(end - start),
                    "request": row["request_id"],
                    "from": wording.tokens(start),
                }
            )
    return found


def _joined(row: Row, thin: int) -> list[tuple[int, int, str, str | None, int, int]]:
    """(start, end, kind, reason, first block, last block) of what is drawn of one bar."""
    joined: list[tuple[int, int, str, str | None, int, int]] = []
    start = 0
    for end, kind, reason, block in zip(
        row["ends"], row["kinds"], row["reasons"], row["blocks"], strict=True
    ):
        if joined:
            s, e, k, r, first, _ = joined[-1]
            alike = class_of(k) == class_of(kind) and r == reason
            if alike and (end - start < thin or e - s < thin):
                joined[-1] = (s, end, k, r, first, block)
                start = end
                continue
        joined.append((start, end, kind, reason, block, block))
        start = end
    return joined


def _blocks(row: Row, first: int, last: int) -> str:
    """What a piece stands in: `system`, `tools: search`, `12 blocks: tools … user`."""
    names = row["block_names"][first : last + 1]
    if len(names) == 1:
        label = row["block_labels"][first]
        return f"{wording.words(names[0])}: {label}" if label else wording.words(names[0])
    runs = [name for name, _ in groupby(names)]
    inner = runs[0] if len(set(names)) == 1 else f"{runs[0]} … {runs[-1]}"
    return f"{len(names)} blocks: {wording.words(inner)}"


def notes(rows: Sequence[Row], page: tuple[int, int], currency: str | None) -> list[Row]:
    """One row a bar: what stands behind it, and where its prompt parts from the earlier one."""
    found = []
    first = rows[0]["arrival_us"] if rows else 0
    several = len({row["agent_id"] for row in rows}) > 1
    for number in range(*page):
        row = rows[number]
        before = rows[number - 1]["arrival_us"] if number else None
        pause = None if before is None else (row["arrival_us"] - before) / 1e6
        found.append(
            {
                "n": number + 1,
                "request": row["request_id"],
                "end": row["prompt_tokens"],
                "label": " · ".join(
                    filter(None, (_agent(row) if several else "", _label(row, currency)))
                ),
                "agent": agent_name(row["agent_id"]),
                "avoidable": row["reason"] is not None and row["reason"] not in UNAVOIDABLE,
                "parted": parted_at(row),
                "cause": cause(row),
                "earlier": (row["finding"] or {}).get("compared_with") or "",
                "since": wording.seconds((row["arrival_us"] - first) / 1e6),
                "pause": "" if pause is None else wording.seconds(pause),
                "prompt": wording.tokens(row["prompt_tokens"]),
            }
        )
    return found


def agent_name(agent: str | None) -> str:
    """Whose request it is, in words."""
    return "main conversation" if agent is None else f"agent {agent}"


def _agent(row: Row) -> str:
    """A mark of a sub-agent's requests; nothing for those of the main conversation."""
    agent = row["agent_id"]
    if agent is None:
        return ""
    return f"↳ {agent if len(agent) <= _AGENT else agent[:_AGENT] + '…'}"


def _label(row: Row, currency: str | None) -> str:
    if row["reason"] is None:
        return ""
    tokens, cost = missed(row)
    if not tokens:
        return wording.words(row["reason"])
    if currency is None or cost is None:
        amount = f"{wording.short_tokens(tokens)} tokens"
    else:
        amount = wording.money(to_decimal(cost), row["currency"] or currency)
    return f"{cause(row) or wording.words(row['reason'])} {amount}"


def cause(row: Row) -> str:
    """The cause of a miss in words; the reason where nothing finer is certain."""
    finding = row["finding"] or {}
    name = finding.get("cause") or row["reason"]
    return "" if name is None else wording.words(name)


def candidates(row: Row) -> str:
    """What the evidence leaves open, in words; empty where the cause is certain."""
    finding = row["finding"] or {}
    return " or ".join(wording.words(name) for name in finding.get("candidates") or ())


def told(finding: Row) -> list[str]:
    """What was seen, in sentences without any text of a prompt."""
    found = []
    if finding.get("compared_with"):
        found.append(f"compared with {finding['compared_with']}")
    place = finding.get("divergence")
    if place is not None:
        block = "" if place["block"] is None else f" block {place['block']}"
        label = f" ({place['label']})" if place["label"] else ""
        behind = (
            "" if not place["tokens"] else f", after {wording.counted(place['tokens'], 'token')}"
        )
        found.append(f"the prompts part at {wording.words(place['section'])}{block}{label}{behind}")
    for difference in finding.get("also") or ():
        names = [difference["cause"]] if difference["cause"] else difference["candidates"]
        found.append("also " + (" or ".join(map(wording.words, names)) or "another difference"))
    for name, value in (finding.get("evidence") or {}).items():
        if name not in _SAID_ABOVE and value is not None:
            found.append(_evidence(name, value))
    return found


_SAID_ABOVE = frozenset(
    {"compared_with", "diverged_at_block", "diverged_at_tokens", "section", "label"}
)


def _evidence(name: str, value: object) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        if name.endswith("_s_ago"):
            return f"{wording.words(name.removesuffix('_s_ago'))} {wording.seconds(value)} ago"
        if name.endswith("_s"):
            return f"{wording.words(name.removesuffix('_s'))}: {wording.seconds(value)}"
    return f"{wording.words(name)}: {_shown(value)}"


def _shown(value: object) -> str:
    if isinstance(value, float):
        return f"{value:,.1f}".replace(",", wording.THIN)
    if isinstance(value, int) and not isinstance(value, bool):
        return wording.tokens(value)
    if isinstance(value, list):
        return " → ".join(map(_shown, value))
    if isinstance(value, dict):
        return "; ".join(
            f"{wording.words(str(key))} {_shown(inner)}" for key, inner in value.items()
        )
    return str(value)
