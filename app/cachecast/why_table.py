"""What `why` found, as tables a person reads at a glance."""

from collections.abc import Iterator, Sequence
from datetime import date

from rich import box
from rich.markup import escape
from rich.table import Table

from cachecast.output import counted, money_column, notes, print_table, share, tokens
from cachecast.why_job import Why
from cachecast.why_next_table import print_next_steps
from cachecast.why_words import seen
from cachecast_pricing.money import to_decimal
from cachecast_pricing.rules.reasons import UNAVOIDABLE
from cachecast_sim.why.causes import NO_BREAK
from cachecast_sim.why.rollup import Example, Sum, dearest

_MOST_ROWS = 12
_MOST_EXAMPLES = 6
_SEEN_CHARACTERS = 70
_ZERO = date(1970, 1, 1)
_NOBODY_COULD = UNAVOIDABLE - {"unknown"}
_TITLES = {"section": "section of the prompt", "session": "session, the dearest first"}


def print_why(why: Why, asked: Sequence[str] = ("LOG",)) -> None:
    """Causes by money, examples to the character, where and whose the misses are, what to do.

    `asked` are the arguments with which `whatif` replays the same log under the same scenario.
    """
    print_table(*_causes(why))
    examples = list(_examples(why))
    if examples:
        print_table(_example_table(why, examples))
    for name, groups in why.rollup.groups.items():
        known = {key: total for key, total in groups.items() if total.tokens}
        if name == "section" or len(known) > 1:
            print_table(*_groups(why, name, known))
    _observed(why)
    print_next_steps(why, asked)
    for line in ("Assumed:", *(f"  • {sentence}" for sentence in why.assumptions)):
        notes.print(line, style="dim", markup=False)


def _table(title: str) -> Table:
    return Table(title=title, title_justify="left", header_style="bold", box=box.SIMPLE_HEAD)


def _money(why: Why, amounts: Sequence[int | None]) -> list[str]:
    totals = why.rollup.totals
    values = [None if a is None or not totals.priced else to_decimal(a) for a in amounts]
    return money_column(values, totals.money.currency or "")


def _of_charge(why: Why, cost: int | None) -> str:
    total = why.rollup.totals.money.total
    return share(cost / total) if cost is not None and total else "–"


def _causes(why: Why) -> Iterator[Table]:
    """Reasons by cost, each with its causes where there is more than its own name to say."""
    totals = why.rollup.totals
    head = f"{counted(totals.requests, 'request')}, {counted(totals.prompt_tokens, 'prompt token')}"
    title = f"{head}\nWhy prompt tokens were not read: cost above the read price"
    lines: list[tuple[str, str, int, int, int | None]] = []
    for reason in totals.misses_by_cost():
        avoidable = "yes" if reason.avoidable else "no"
        name = reason.reason.replace("_", " ")
        lines.append((name, avoidable, reason.requests, reason.tokens, reason.cost))
        causes = why.rollup.reasons[reason.reason].causes
        if set(causes) - {reason.reason}:
            for cause, total in dearest(causes):
                shown = "  not decided" if cause == "unknown" else f"  {cause.replace('_', ' ')}"
                note = "no break" if cause in NO_BREAK else ""
                lines.append((shown, note, total.requests, total.tokens, total.cost))
    costs = _money(why, [*(line[4] for line in lines), totals.avoidable_cost])
    for columns in (("requests", "tokens", "cost", "of the charge"), ("tokens", "cost")):
        table = _table(title)
        table.add_column("reason", no_wrap=True)
        table.add_column("avoidable", no_wrap=True)
        for column in columns:
            table.add_column(column, justify="right", no_wrap=True)
        for (name, avoidable, requests, missed, cost), text in zip(lines, costs, strict=False):
            cells = {
                "requests": tokens(requests), "tokens": tokens(missed), "cost": text,
                "of the charge": _of_charge(why, cost),
            }  # fmt: skip
            style = "dim" if name.startswith("  ") else None
            table.add_row(name, avoidable, *(cells[c] for c in columns), style=style)
        table.add_section()
        last = {"cost": costs[-1], "of the charge": _of_charge(why, totals.avoidable_cost)}
        table.add_row("avoidable in all", "", *(last.get(c, "") for c in columns), style="bold")
        yield table


def _examples(why: Why) -> Iterator[Example]:
    """One example a reason that says more than its name, the dearest first."""
    shown = 0
    for reason in why.rollup.totals.misses_by_cost():
        for example in why.rollup.reasons[reason.reason].examples:
            if shown < _MOST_EXAMPLES and reason.reason not in UNAVOIDABLE and says_more(example):
                shown += 1
                yield example
                break


def says_more(example: Example) -> bool:
    """Whether the example has something to see, and a cause that somebody could have avoided."""
    finding = example.finding
    return finding.name not in _NOBODY_COULD and bool(finding.candidates or seen(finding))


def _example_table(why: Why, examples: Sequence[Example]) -> Table:
    table = _table("The dearest request of each avoidable reason")
    table.add_column("request", overflow="fold")
    table.add_column("cost", justify="right", no_wrap=True)
    table.add_column("cause", overflow="fold")
    table.add_column("what was seen", overflow="fold", max_width=_SEEN_CHARACTERS)
    costs = _money(why, [example.cost for example in examples])
    for example, cost in zip(examples, costs, strict=True):
        finding = example.finding
        cause = finding.cause or " or ".join(finding.candidates) or "unknown"
        also = "".join(f"\nalso {d.cause or ' or '.join(d.candidates)}" for d in finding.also)
        table.add_row(
            escape(example.request_id), cost, (cause + also).replace("_", " "),
            escape(seen(finding)),
        )  # fmt: skip
    return table


def _groups(why: Why, name: str, groups: dict[str | None, Sum]) -> Iterator[Table]:
    shown = dearest(groups)[:_MOST_ROWS]
    if name == "day":
        shown = sorted(dearest(groups)[:_MOST_ROWS], key=lambda item: str(item[0]))
    costs = _money(why, [total.cost for _, total in shown])
    avoidable = _money(why, [total.avoidable_cost for _, total in shown])
    table = _table(f"by {_TITLES.get(name, name)}")
    table.add_column(name, overflow="fold")
    for column in ("requests", "not read", "cost", "avoidable", "of the charge"):
        table.add_column(column, justify="right", no_wrap=True)
    for (key, total), cost, part in zip(shown, costs, avoidable, strict=True):
        label = "not stated" if key is None else escape(_label(why, name, key))
        table.add_row(
            label, tokens(total.requests), tokens(total.tokens), cost, part,
            _of_charge(why, total.cost),
        )  # fmt: skip
    if len(groups) > len(shown):
        table.caption = f"the first {len(shown)} of {len(groups):,}; --json has all"
    yield table


def _label(why: Why, name: str, key: str) -> str:
    """Days of a log without a calendar count from its own zero, its first day is day 1."""
    if name != "day" or why.absolute:
        return key
    return f"{(date.fromisoformat(key) - _ZERO).days + 1:,}"


def _observed(why: Why) -> None:
    """What the log itself says: the provider's diagnoses, and lifetimes that changed."""
    if why.rollup.diagnoses.told:
        print_table(_diagnosis_table(why))
    if why.rollup.totals.gaps.causes():
        notes.print("the log's own usage differs from the prediction: see cachecast bill")
    for day, before, after in why.rollup.tier_changes():
        notes.print(f"note: from {day} on, writes have a lifetime of {after} instead of {before}")


def _diagnosis_table(why: Why) -> Table:
    found = why.rollup.diagnoses
    table = _table(
        f"The provider's own diagnosis: {found.told:,} told, {found.agree:,} agree, "
        f"{found.disagree:,} differ (the provider's holds)"
    )
    for column in ("request", "provider says", "cachecast found"):
        table.add_column(column, overflow="fold")
    for request_id, told, ours in found.examples:
        table.add_row(escape(request_id), told.replace("_", " "), ours.replace("_", " "))
    return table
