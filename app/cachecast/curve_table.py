"""Curves as tables a person reads at a glance."""

from collections.abc import Sequence
from fractions import Fraction

from rich import box
from rich.table import Table

from cachecast.curve_job import Answer
from cachecast.output import money_column, notes, print_table, tokens
from cachecast_pricing.money import to_decimal
from cachecast_sim.curve.curves import Ratios

_SPOKEN = (Fraction(9, 10), Fraction(99, 100))  # shares of the ideal that get a sentence
_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"))


def print_curves(answer: Answer) -> None:
    """Hit ratios by capacity, then by lifetime, then what most of the ideal takes."""
    curves = answer.curves
    # above the table, since a title is wrapped where the table is narrower
    print(
        f"{tokens(curves.requests)} requests, {tokens(curves.total_blocks)} blocks of "
        f"{tokens(curves.block_tokens)} tokens, {tokens(curves.unique_blocks)} of them distinct\n"
    )
    print_table(_capacity_table(answer))
    print_table(_ttl_table(answer))
    for line in summary(answer):
        print(line)
    for note in answer.notes:
        notes.print(f"note: {note}", markup=False, soft_wrap=True)


def summary(answer: Answer) -> list[str]:
    """The ideal, and what it takes to come near it, as sentences."""
    ideal = answer.curves.ideal
    if ideal.blocks is None or not answer.reached():
        return ["No request finds a block that an earlier one brought."]
    if ideal.tokens is None:
        found = f"{percent(ideal.blocks)} of blocks"
    else:
        found = f"{percent(ideal.tokens)} of prompt tokens ({percent(ideal.blocks)} of blocks)"
    lines = [f"A cache that forgets nothing hits {found}.", *_worth(answer)]
    for reached in answer.reached():
        if reached.share in _SPOKEN:
            line = f"{100 * reached.share} % of that takes {tokens(reached.blocks)} blocks"
            if (gib := answer.gib(reached.blocks)) is not None:
                line += f" ({_gib(gib)} GiB)"
            if reached.ttl_us is not None:
                line += f", or a lifetime of {duration(reached.ttl_us)} since the last use"
            lines.append(f"{line}.")
    return lines


def _worth(answer: Answer) -> list[str]:
    worth, tokens = answer.question.worth, answer.curves.prompt_tokens
    saved = answer.saved(answer.curves.ideal)
    if worth is None or tokens is None or saved is None:
        return []
    amounts = [to_decimal(saved), to_decimal(tokens * worth.fresh)]
    saves, of_all = money_column(amounts, worth.currency)
    return [
        f"At the prices of {worth.name} that saves {saves} of the {of_all} that the prompts cost "
        "without a cache."
    ]


def duration(us: int) -> str:
    """A time in the largest unit that leaves it at 1 or more, with at most three digits."""
    for length_s, unit in _UNITS:
        if us >= length_s * 1_000_000:
            return f"{us / length_s / 1e6:.3g} {unit}"
    return f"{us / 1e6:.3g} s"


def percent(ratio: float | None) -> str:
    """A ratio with two decimals, one more than bills have: curves are compared."""
    return "–" if ratio is None else f"{100 * ratio:.2f} %"


def _table(title: str) -> Table:
    return Table(title=title, title_justify="left", header_style="bold", box=box.SIMPLE_HEAD)


def _capacity_table(answer: Answer) -> Table:
    table = _table("LRU of a limited capacity")
    table.add_column("capacity in blocks", justify="right", no_wrap=True)
    in_gib = answer.question.bytes_per_token is not None
    if in_gib:
        table.add_column("in GiB", justify="right", no_wrap=True)
    _add_ratio_columns(table, answer)
    points = [answer.curves.at_capacity(blocks) for blocks in answer.capacities]
    money = _money(answer, [*points, answer.curves.ideal])
    for blocks, point, saved in zip(answer.capacities, points, money, strict=False):
        gib = answer.gib(blocks)
        memory = () if gib is None else (_gib(gib),)
        table.add_row(tokens(blocks), *memory, *_cells(answer, point), *saved)
    last = _cells(answer, answer.curves.ideal)
    table.add_row("no limit", *([""] if in_gib else []), *last, *money[-1])
    return table


def _ttl_table(answer: Answer) -> Table:
    since = "last use" if answer.question.refresh else "write"
    table = _table(f"no limit but a lifetime since the {since}")
    table.add_column("lifetime", justify="right", no_wrap=True)
    _add_ratio_columns(table, answer)
    points = [answer.at_ttl(life_us) for life_us in answer.lives_us]
    for life_us, point, saved in zip(answer.lives_us, points, _money(answer, points), strict=True):
        table.add_row(duration(life_us), *_cells(answer, point), *saved)
    return table


def _money(answer: Answer, points: Sequence[Ratios]) -> list[list[str]]:
    """A cell for each point, with the same decimals; none where nobody asked for prices."""
    if answer.question.worth is None:
        return [[] for _ in points]
    saved = [answer.saved(point) for point in points]
    amounts = [None if amount is None else to_decimal(amount) for amount in saved]
    cells = money_column(amounts, answer.question.worth.currency)
    return [["–" if amount is None else cell] for amount, cell in zip(amounts, cells, strict=True)]


def _add_ratio_columns(table: Table, answer: Answer) -> None:
    for name in ("tokens hit", "blocks hit", "of the ideal"):
        table.add_column(name, justify="right", no_wrap=True)
    if answer.curves.sample is not None:
        table.add_column("95 % interval (blocks)", justify="right", no_wrap=True)
    if answer.question.worth is not None:
        table.add_column("saved", justify="right", no_wrap=True)


def _cells(answer: Answer, found: Ratios) -> list[str]:
    ideal = answer.curves.ideal.blocks
    part = found.blocks / ideal if ideal and found.blocks is not None else None
    cells = [percent(found.tokens), percent(found.blocks), percent(part)]
    if answer.curves.sample is not None and found.blocks_interval is not None:
        cells.append(" to ".join(percent(end) for end in found.blocks_interval))
    return cells


def _gib(gib: float) -> str:
    return f"{gib:,.3g}" if gib < 100 else f"{gib:,.0f}"
