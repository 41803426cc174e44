"""Two prompts side by side: their blocks with texts where they are known."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from cachecast_datasets.request import ContentBlock, Request
from cachecast_pricing.rules.divergence import MEDIA
from cachecast_sim.why.causes import Place

SYSTEM = ("system", "developer")


@dataclass(frozen=True, slots=True)
class Item:
    """One block of a prompt: its index, the tokens before it, its text if known."""

    index: int
    start: int
    block: ContentBlock
    text: str | None

    @property
    def key(self) -> tuple[str, int]:
        """Equal for equal blocks of the same section."""
        return self.block.section, self.block.hash

    @property
    def canonical(self) -> int:
        """The hash with sorted keys, else the raw one."""
        found = self.block.canonical_hash
        return self.block.hash if found is None else found

    @property
    def name(self) -> str | None:
        """A tool's name, where the log or the text tells it."""
        if self.block.section != "tools":
            return None
        return None if self.text is None else tool_name(self.text) or self.block.label

    def place(self, offset: int | None = None, before: str | None = None,
              after: str | None = None) -> Place:  # fmt: skip
        """Where this block stands."""
        block = self.block
        return Place(block.section, self.index, self.start, block.label, offset, before, after)


def items_of(request: Request, texts: Sequence[str] | None) -> list[Item]:
    """The blocks of a prompt; texts are used only if there is one for each block."""
    blocks = request.blocks or ()
    known = texts if texts is not None and len(texts) == len(blocks) else None
    starts = accumulate((block.tokens for block in blocks), initial=0)
    return [
        Item(i, start, block, None if known is None or block.kind in MEDIA else known[i])
        for i, (block, start) in enumerate(zip(blocks, starts, strict=False))
    ]


def tool_name(text: str | None) -> str | None:
    """The name in a tool's JSON definition."""
    if text is None:
        return None
    try:
        value = json.loads(text)
    except ValueError:
        return None
    if isinstance(value, dict) and isinstance(value.get("function"), dict):
        value = value["function"]
    name = value.get("name") if isinstance(value, dict) else None
    return name if isinstance(name, str) else None


@dataclass(frozen=True, slots=True)
class Parts:
    """The three levels of a prompt."""

    tools: list[Item]
    system: list[Item]
    messages: list[Item]


def parts_of(items: Sequence[Item]) -> Parts:
    """Tools, the system text (or the developer blocks before the first message), and the rest."""
    tools = [item for item in items if item.block.section == "tools"]
    rest = [item for item in items if item.block.section != "tools"]
    at = 0
    while at < len(rest) and rest[at].block.section in SYSTEM:
        at += 1
    return Parts(tools, rest[:at], rest[at:])
