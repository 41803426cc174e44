"""A block that is rewritten in place, behind what stays: `summary=last`."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from cachecast_datasets.errors import BadInput
from cachecast_datasets.request import ContentBlock, Request
from cachecast_pricing.catalog import Catalog
from cachecast_sim.whatif.change import Change, ChangedLog, conversation
from cachecast_sim.whatif.prompts import with_blocks

Rewritten = dict[tuple[str | None, ...], int]  # conversation -> index of the block


class SummaryLast(Change):
    """In conversations where one block is rewritten while what follows it stays, it goes last."""

    needs = "blocks"

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.conversations = 0

    def log(self, log: ChangedLog) -> ChangedLog:
        """The log with such blocks at the end of their prompts."""
        requests = list(log.requests)
        found = _rewritten(requests)
        self.conversations = len(found)
        return replace(log, requests=list(_moved(requests, found)))

    def assumptions(self) -> list[str]:
        """Where it helps."""
        one = self.conversations == 1
        who = "1 conversation rewrites" if one else f"{self.conversations:,} conversations rewrite"
        return [
            f"{who} a block in place; it now stands last "
            "(without a marker: ask for one before it, as mark=system+previous does)"
        ]


def _rewritten(requests: Sequence[Request]) -> Rewritten:
    """The first block of each conversation that changed while all later ones stayed."""
    before: dict[tuple[str | None, ...], Sequence[ContentBlock]] = {}
    found: Rewritten = {}
    for request in requests:
        if request.blocks is None:
            continue
        key = conversation(request)
        at = _changed_in_place(before.get(key, ()), request.blocks)
        if at is not None:
            found[key] = min(at, found.get(key, at))
        before[key] = request.blocks
    return found


def _changed_in_place(old: Sequence[ContentBlock], new: Sequence[ContentBlock]) -> int | None:
    for at, (theirs, ours) in enumerate(zip(old, new, strict=False)):
        if theirs.hash != ours.hash:
            rest = [block.hash for block in old[at + 1 :]]
            same_place = theirs.section == ours.section and theirs.section != "tools"
            aligned = rest == [block.hash for block in new[at + 1 : len(old)]]
            return at if rest and same_place and aligned else None
    return None


def _moved(requests: Sequence[Request], found: Rewritten) -> Iterator[Request]:
    for request in requests:
        at = found.get(conversation(request))
        blocks = request.blocks
        if blocks is None or at is None or at >= len(blocks) - 1:
            yield request
            continue
        last = blocks[at]._replace(section="user", role="user", message=blocks[-1].message)
        yield with_blocks(request, [*blocks[:at], *blocks[at + 1 :], last._replace(marker=None)])


def make(text: str, value: str, catalog: Catalog) -> Change:
    """`last` is the only place so far."""
    if value != "last":
        raise BadInput(f"--change {text}: expected summary=last")
    return SummaryLast(text)
