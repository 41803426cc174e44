"""A prompt cut into pieces that are alike: same content block, same token class, same reason.

The pieces of a request lie one behind another from its first token to its last, so that they sum to
its prompt, and those of each class to its usage.
"""

from collections.abc import Iterator
from itertools import accumulate
from typing import NamedTuple

from cachecast_datasets.request import Request
from cachecast_pricing.usage import Usage
from cachecast_sim.ledger import WRITE_ORDER, LedgerRow

# Reasons for tokens that nobody asked to store, or that are never stored: `uncached`, not `fresh`.
NEVER_STORED = frozenset(
    {"not_requested", "below_minimum", "too_many_markers", "uncached_tail", "block_rounding"}
)
REST = "rest"  # behind the last boundary of a log that knows only token blocks


class Piece(NamedTuple):
    """Prompt tokens `start <= t < end`. `block` indexes the names of `block_names`.

    `kind` is a class of `Usage`, or `uncached` for those fresh tokens that were not to be stored;
    `reason` is None for tokens that were read.
    """

    start: int
    end: int
    block: int
    kind: str
    reason: str | None


class Block(NamedTuple):
    """A content block, or the stretch between two boundaries: its name and its end in tokens."""

    name: str
    end: int
    label: str | None = None


def blocks_of(request: Request, total: int) -> list[Block]:
    """The parts of a prompt of `total` tokens; the last one takes whatever is behind it."""
    if request.blocks:
        sums = accumulate(block.tokens for block in request.blocks)
        found = [
            Block(_name(block.section, block.kind), end, block.label)
            for block, end in zip(request.blocks, sums, strict=True)
        ]
    elif request.boundaries is not None:
        marks = request.boundaries
        found = [Block(name, end) for name, end in zip(marks.names, marks.tokens, strict=True)]
        if found and found[-1].end < total:
            return [*found, Block(REST, total)]
    else:
        found = []
    if not found:
        return [Block("prompt", total)]
    return [*found[:-1], found[-1]._replace(end=total)]


def pieces_of(row: LedgerRow, blocks: list[Block]) -> list[Piece]:
    """The pieces of the row's prompt, in order; `blocks` are its `blocks_of`."""
    classes = list(_classes(row.usage))
    reasons: list[tuple[int, str | None]] = [(row.usage.cache_read, None)]
    segments = sorted(row.outcome.explanation.segments)
    reasons += [(s.end, s.reason) for s in segments if s.tokens]
    ends = sorted(
        {end for end, _ in classes} | {end for end, _ in reasons if end}
        | {block.end for block in blocks if block.end}
    )  # fmt: skip
    pieces, start = [], 0
    at_class = at_reason = at_block = 0
    for end in ends:
        if end > row.usage.prompt_tokens:
            break
        while classes[at_class][0] < end:
            at_class += 1
        while at_reason < len(reasons) - 1 and reasons[at_reason][0] < end:
            at_reason += 1
        while at_block < len(blocks) - 1 and blocks[at_block].end < end:
            at_block += 1
        kind, reason = classes[at_class][1], reasons[at_reason][1]
        if kind == "fresh" and reason in NEVER_STORED:
            kind = "uncached"
        pieces.append(Piece(start, end, at_block, kind, reason))
        start = end
    return pieces


def _classes(usage: Usage) -> Iterator[tuple[int, str]]:
    """(end in tokens, class) from the front: what was read, what was written, what was fresh."""
    at = 0
    for name in ("cache_read", *WRITE_ORDER, "fresh"):
        tokens: int = getattr(usage, name)
        if tokens:
            at += tokens
            yield at, name


def _name(section: str, kind: str) -> str:
    """`tools`, `user`, `assistant tool_use`: the kind where the section does not tell it."""
    if kind in ("text", "tool_definition"):
        return section
    return kind if kind.startswith(section) else f"{section} {kind}"
