"""Values that change between requests, out of the prefix: `volatile=drop`, `volatile=move`."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

from cachecast_datasets.boundaries import content_boundaries
from cachecast_datasets.errors import BadInput
from cachecast_datasets.request import ContentBlock, Request
from cachecast_pricing.catalog import Catalog
from cachecast_sim.whatif.change import Change, ChangedLog, conversation
from cachecast_sim.whatif.prompts import HEAD, with_blocks

VALUE_TOKENS = 20  # what a date, time or id with a few words takes

Place = tuple[object, ...]


class Volatile(Change):
    """Blocks whose text is the same but for dates, times, ids or numbers get one text.

    With `move` the value follows as a block of `VALUE_TOKENS` behind the prompt of its turn, where
    it stays in the history of later turns.
    """

    needs = "blocks"

    def __init__(self, text: str, move: bool) -> None:
        super().__init__(text)
        self.move = move
        self.blocks = 0

    def log(self, log: ChangedLog) -> ChangedLog:
        """The log with stable blocks."""
        requests = list(log.requests)
        volatile = _volatile_places(requests)
        return replace(log, requests=list(self._changed(requests, volatile)))

    def _changed(self, requests: Sequence[Request], volatile: set[Place]) -> Iterator[Request]:
        ends: dict[Place, dict[int, ContentBlock]] = defaultdict(dict)
        for request in requests:
            if request.blocks is None:
                yield request
                continue
            found = [
                (place in volatile, block)
                for place, block in zip(_places(request), request.blocks, strict=True)
            ]
            values = [block.hash for is_volatile, block in found if is_volatile]
            self.blocks += len(values)
            blocks = [_stable(block) if is_volatile else block for is_volatile, block in found]
            if self.move:
                blocks = _with_values(blocks, values, ends[conversation(request)])
            yield with_blocks(request, blocks)

    def assumptions(self) -> list[str]:
        """What stands for the values."""
        where = (
            f"its value follows behind its turn's prompt as {VALUE_TOKENS} tokens and stays there"
            if self.move
            else "nothing takes its place, and the block keeps its tokens"
        )
        return [f"{self.blocks:,} blocks had a volatile value taken out; {where}"]


def _places(request: Request) -> Iterator[Place]:
    """What has to be the same for two blocks to be one text with different values.

    Tools and system text are shared by an account; behind them only the first message is looked
    at, within a session: later ones may say nearly the same and mean something else.
    """
    first = None
    scope = conversation(request)
    for block in request.blocks or ():
        if block.section in HEAD:
            yield scope[:2], block.section, block.masked_hash
            continue
        first = block.message if first is None else first
        inside = block.message == first
        yield (scope, "first message", block.masked_hash) if inside else ("later",)


def _volatile_places(requests: Sequence[Request]) -> set[Place]:
    seen: dict[Place, int] = {}
    found = set()
    for request in requests:
        for place, block in zip(_places(request), request.blocks or (), strict=True):
            if block.masked_hash is None or place[0] == "later":
                continue
            if seen.setdefault(place, block.hash) != block.hash:
                found.add(place)
    return found


def _stable(block: ContentBlock) -> ContentBlock:
    assert block.masked_hash is not None
    return block._replace(hash=block.masked_hash, canonical_hash=block.masked_hash)


def _with_values(
    blocks: Sequence[ContentBlock], values: Sequence[int], ends: dict[int, ContentBlock]
) -> list[ContentBlock]:
    """The blocks with the values of earlier turns where those ended, and this turn's at the end."""
    chain = content_boundaries(blocks).hashes
    if values and chain[-1] not in ends:
        last = blocks[-1]
        ends[chain[-1]] = ContentBlock(
            "user", "user", "text", last.message, VALUE_TOKENS, values[-1], label="volatile value"
        )
    made = []
    for block, end in zip(blocks, chain, strict=True):
        if end in ends:
            # the marker of the turn's last block moves behind the value
            made += [block._replace(marker=None), ends[end]._replace(marker=block.marker)]
        else:
            made.append(block)
    return made


def make(text: str, value: str, catalog: Catalog) -> Change:
    """`drop` or `move`."""
    if value not in ("drop", "move"):
        raise BadInput(f"--change {text}: expected volatile=drop or volatile=move")
    return Volatile(text, value == "move")
