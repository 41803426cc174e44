"""DeepSeek's matcher as the fact sheet has it: whole units from token 0, scanned linearly.

For requests that come one after the other, each long after the one before was built.
"""

from dataclasses import dataclass, field
from typing import Any

from rule_sketches import Line

Blocks = tuple[tuple[str, str, int], ...]  # section, name, tokens


def tokens(blocks: Blocks) -> int:
    return sum(block[2] for block in blocks)


def common(one: Blocks, other: Blocks) -> Blocks:
    found = []
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        found.append(a)
    return tuple(found)


@dataclass
class SlowDeepSeek:
    """One cache. `reads` of a sketch, in tokens."""

    units: list[tuple[Any, Blocks]] = field(default_factory=list)
    prompts: list[tuple[Any, Blocks]] = field(default_factory=list)

    def reads(self, lines: list[Line]) -> list[int]:
        return [self._read(entry) for entry in lines]

    def _read(self, entry: Line) -> int:
        scope = (entry["account"], entry["model"])
        prompt: Blocks = tuple((item[0], item[1], item[2]) for item in entry["prompt"])
        units = [unit for where, unit in self.units if where == scope]
        whole = [unit for unit in units if unit == prompt[: len(unit)]]
        read = max((tokens(unit) for unit in whole), default=0)
        if entry["ttft"] is None:
            return read
        shared = [common(prompt, seen) for where, seen in self.prompts if where == scope]
        longest = max(shared, key=tokens, default=())
        if tokens(longest) > read:
            self.units.append((scope, longest))
        self.units.append((scope, prompt))
        if "answer" in entry:
            answer = ("assistant", entry["answer"], entry["output"])
            self.units.append((scope, (*prompt, answer)))
        self.prompts.append((scope, prompt))
        return read
