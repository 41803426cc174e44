"""Tools and JSON keys in one order: `order=tools`, `order=keys`, `order=stable` for both."""

from collections.abc import Sequence
from dataclasses import replace

from cachecast_datasets.errors import BadInput
from cachecast_datasets.request import ContentBlock, Request
from cachecast_pricing.catalog import Catalog
from cachecast_sim.whatif.change import Change, ChangedLog
from cachecast_sim.whatif.prompts import head_length, with_blocks

_ASKED = {"tools": (True, False), "keys": (False, True), "stable": (True, True)}


class StableOrder(Change):
    """Tool definitions sorted, JSON objects with sorted keys (their canonical hashes)."""

    needs = "blocks"

    def __init__(self, text: str, tools: bool, keys: bool) -> None:
        super().__init__(text)
        self.tools = tools
        self.keys = keys
        self.changed = 0

    def log(self, log: ChangedLog) -> ChangedLog:
        """The log in stable order."""
        requests = list(log.requests)
        return replace(log, requests=[self._ordered(request) for request in requests])

    def _ordered(self, request: Request) -> Request:
        blocks = request.blocks
        if blocks is None:
            return request
        made = [_canonical(block) for block in blocks] if self.keys else list(blocks)
        if self.tools:
            made = _sorted_tools(made)
        if made == list(blocks):
            return request
        self.changed += 1
        return with_blocks(request, made)

    def assumptions(self) -> list[str]:
        """How much there was to do."""
        return [f"{self.changed:,} prompts were put in a stable order, with the same tokens"]


def _canonical(block: ContentBlock) -> ContentBlock:
    known = block.canonical_hash
    return block if known is None else block._replace(hash=known)


def _sorted_tools(blocks: Sequence[ContentBlock]) -> list[ContentBlock]:
    """Markers keep their places, the definitions move."""
    head = [block for block in blocks[: head_length(blocks)] if block.section == "tools"]
    ordered = sorted(head, key=lambda block: (block.label or "", block.hash))
    moved = [
        block._replace(marker=before.marker)
        for block, before in zip(ordered, head, strict=True)
    ]  # fmt: skip
    return [*moved, *blocks[len(head) :]]


def make(text: str, value: str, catalog: Catalog) -> Change:
    """What is put in order."""
    if value not in _ASKED:
        raise BadInput(f"--change {text}: expected order=tools, order=keys or order=stable")
    return StableOrder(text, *_ASKED[value])
