"""How many tokens each block of a growing conversation has, from the sizes of its prompts alone.

A request's prompt is an earlier request's prompt, its answer, and what came after. The answer's
blocks have the output that was reported; the rest of the difference between the two sizes is what
the other new blocks have together, shared out by their lengths. So a block keeps its tokens for the
rest of the conversation, and the blocks of every prompt sum to its reported size. What the log does
not show (system prompt, tools) is a first block of its own: in the first prompt it is what is left
after a quarter of a token per character of visible text.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from cachecast_datasets.block_path import BlockPath, Part, PathPrefix
from cachecast_datasets.content import share_out

CHARACTERS_PER_TOKEN = 4


@dataclass(frozen=True, slots=True)
class Prompt:
    """One request's prompt: the first `length` blocks of a path, `total` tokens, `lead` first."""

    path: BlockPath
    length: int
    total: int
    lead: int  # the hash of the unseen first block

    @property
    def blocks(self) -> PathPrefix:
        """As a Request carries it."""
        return PathPrefix(self.path, self.length)


class Answer(NamedTuple):
    """What the model wrote after a prompt: its blocks, and its reported tokens."""

    parts: Sequence[Part] = ()
    tokens: int = 0


class PromptGrowth:
    """Makes the prompts of one file. Remembers the size of each unseen first block."""

    def __init__(self) -> None:
        self._unseen: dict[int, int] = {}

    def first(self, lead: Part, parts: Sequence[Part], total: int) -> Prompt:
        """A prompt that continues none (or none of the same first block)."""
        weights = [part.weight for part in parts]
        unseen = self._unseen.get(lead.hash)
        if unseen is None or unseen > total:
            unseen = max(0, total - sum(weights) // CHARACTERS_PER_TOKEN)
        if not parts:
            unseen = total
        else:
            self._unseen.setdefault(lead.hash, unseen)
        path = BlockPath()
        path.extend([lead, *parts], [unseen, *share_out(total - unseen, weights)])
        return Prompt(path, len(path), total, lead.hash)

    def next(
        self, before: Prompt, lead: Part, answer: Answer, parts: Sequence[Part], total: int
    ) -> Prompt:
        """The prompt that is `before`, its answer and `parts`.

        Where it is smaller than `before` (the client dropped something), or unseen tokens came
        without a block, all tokens are shared out anew.
        """
        added = total - before.total
        new = [*answer.parts, *parts]
        if before.lead != lead.hash or added < 0 or (added and not new):
            return self.first(lead, [*before.path.parts[1 : before.length], *new], total)
        path = before.path
        if len(path) != before.length:  # another request went on from here: a branch
            path = path.copied(before.length)
        path.extend(new, _shares(answer, parts, added))
        return Prompt(path, len(path), total, lead.hash)


def _shares(answer: Answer, parts: Sequence[Part], added: int) -> list[int]:
    """The answer's blocks get its output, if so much was added and others take the rest."""
    weights = [part.weight for part in answer.parts], [part.weight for part in parts]
    rest = added - answer.tokens
    if answer.parts and rest >= 0 and (parts or not rest):
        return [*share_out(answer.tokens, weights[0]), *share_out(rest, weights[1])]
    return share_out(added, [*weights[0], *weights[1]])
