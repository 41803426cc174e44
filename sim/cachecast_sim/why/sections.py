"""Which sections of a prompt its misses stand in, tokens and money to the last one."""

from collections.abc import Iterator, Sequence

from cachecast_datasets.request import Request
from cachecast_pricing.rules.reasons import Segment
from cachecast_sim.ledger import LedgerRow, Miss, miss_costs

UNKNOWN = "unknown"
Part = tuple[str, Miss]  # (section, what was not read there)


def parts_of(row: LedgerRow) -> list[Part]:
    """The row's misses cut at the ends of its sections; they sum to the row's own misses."""
    segments = row.outcome.explanation.segments
    ends = section_ends(row.request, row.usage.prompt_tokens)
    if len(ends) == 1:
        return [(ends[0][0], miss) for miss in row.misses]
    cut = list(_cut(segments, ends))
    pieces = [segment for _, segment in cut]
    if row.prices is None:
        misses = [Miss(s.reason, s.tokens, None) for s in pieces]
    else:
        misses = miss_costs(row.usage, pieces, row.prices)
    return [(section, miss) for (section, _), miss in zip(cut, misses, strict=True)]


def section_ends(request: Request, total: int) -> list[tuple[str, int]]:
    """(section, its end in tokens), ascending; the last one takes whatever is behind it."""
    if request.blocks is not None:
        return _of_blocks(request, total)
    tools, system = request.tools_tokens, request.system_tokens
    if tools is None or system is None:
        return [(UNKNOWN, total)]
    ends = [("tools", tools), ("system", tools + system), ("messages", total)]
    known = [(name, min(end, total)) for name, end in ends]
    return [end for i, end in enumerate(known) if i == 0 or end[1] > known[i - 1][1]] or known[-1:]


def _of_blocks(request: Request, total: int) -> list[tuple[str, int]]:
    ends: list[tuple[str, int]] = []
    at = 0
    for block in request.blocks or ():
        at += block.tokens
        if ends and ends[-1][0] == block.section:
            ends[-1] = (block.section, at)
        else:
            ends.append((block.section, at))
    return ends or [(UNKNOWN, total)]


def _cut(
    segments: Sequence[Segment], ends: Sequence[tuple[str, int]]
) -> Iterator[tuple[str, Segment]]:
    last = len(ends) - 1
    for start, end, reason in segments:
        if start == end:
            yield ends[0][0], Segment(start, end, reason)
        for i, (section, at) in enumerate(ends):
            stop = end if i == last else min(end, at)
            if stop > start:
                yield section, Segment(start, stop, reason)
                start = stop
