"""Content blocks that the requests of one conversation share: each prompt is a prefix of a path.

A session of 500 requests has prompts of 500 blocks on average, but 1,000 blocks in all; they are
hashed, chained and turned into Arrow once (benchmarks/transcripts.py).
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, overload

import pyarrow as pa

from cachecast_datasets.hashing import ROOT
from cachecast_datasets.prefix_chain import extended
from cachecast_datasets.request import Boundaries, ContentBlock
from cachecast_datasets.request_log import SCHEMA

BLOCK_TYPE = SCHEMA.field("blocks").type.value_type
BOUNDARY_TYPE = SCHEMA.field("boundaries").type.value_type


class Part(NamedTuple):
    """A content block before it is known how many tokens it has; `weight` is its share of them."""

    section: str
    role: str | None
    kind: str
    weight: int
    hash: int
    canonical_hash: int | None
    masked_hash: int | None
    label: str | None = None


class BlockPath:
    """A list of blocks that only grows. Blocks of one role in a row are one message."""

    __slots__ = ("_arrays", "hashes", "messages", "parts", "tokens")

    def __init__(self) -> None:
        self.parts: list[Part] = []
        self.tokens: list[int] = []
        self.messages: list[int] = []
        self.hashes: list[int] = []  # chained
        self._arrays: tuple[pa.StructArray, pa.StructArray] | None = None

    def __len__(self) -> int:
        return len(self.parts)

    def extend(self, parts: Sequence[Part], tokens: Sequence[int]) -> None:
        """Append blocks of so many tokens."""
        before = self.hashes[-1] if self.hashes else ROOT
        message = self.messages[-1] if self.messages else -1
        role = self.parts[-1].role if self.parts else ""
        for part in parts:
            if part.role != role:
                message, role = message + 1, part.role
            before = extended(before, part.section, part.hash)
            self.messages.append(message)
            self.hashes.append(before)
        self.parts.extend(parts)
        self.tokens.extend(tokens)

    def copied(self, length: int) -> "BlockPath":
        """A new path that starts with the first `length` blocks."""
        made = BlockPath()
        made.parts, made.tokens = self.parts[:length], self.tokens[:length]
        made.messages, made.hashes = self.messages[:length], self.hashes[:length]
        return made

    def block(self, index: int) -> ContentBlock:
        """One block."""
        part, message, tokens = self.parts[index], self.messages[index], self.tokens[index]
        return ContentBlock(
            part.section, part.role, part.kind, message, tokens, part.hash,
            part.canonical_hash, part.masked_hash, None, part.label,
        )  # fmt: skip

    def arrays(self) -> tuple[pa.StructArray, pa.StructArray]:
        """All blocks and their boundaries, as the request log's structs."""
        if self._arrays is None or len(self._arrays[0]) != len(self.parts):
            self._arrays = self._made()
        return self._arrays

    def _made(self) -> tuple[pa.StructArray, pa.StructArray]:
        count = len(self.parts)
        columns = list(zip(*self.parts, strict=True)) or [()] * len(Part._fields)
        section, role, kind, _, hashes, canonical, masks, labels = columns
        blocks = (
            section, role, kind, self.messages, self.tokens, hashes, canonical, masks,
            [None] * count, labels,
        )  # fmt: skip
        total, ends = 0, []
        for tokens in self.tokens:
            total += tokens
            ends.append(total)
        boundaries = (ends, self.hashes, section, range(1, count + 1))
        return _struct(blocks, BLOCK_TYPE), _struct(boundaries, BOUNDARY_TYPE)


def _struct(columns: Sequence[Sequence[object]], kind: pa.StructType) -> pa.StructArray:
    fields = list(kind)
    arrays = [pa.array(values, field.type) for values, field in zip(columns, fields, strict=True)]
    return pa.StructArray.from_arrays(arrays, fields=fields)


class PathPrefix(Sequence[ContentBlock]):
    """The first `length` blocks of a path: one request's prompt."""

    __slots__ = ("length", "path")

    def __init__(self, path: BlockPath, length: int) -> None:
        self.path = path
        self.length = length

    def __len__(self) -> int:
        return self.length

    def __iter__(self) -> Iterator[ContentBlock]:
        return map(self.path.block, range(self.length))

    @overload
    def __getitem__(self, index: int) -> ContentBlock: ...
    @overload
    def __getitem__(self, index: slice) -> list[ContentBlock]: ...
    def __getitem__(self, index: int | slice) -> ContentBlock | list[ContentBlock]:
        numbers = range(self.length)[index]
        if isinstance(numbers, range):
            return [self.path.block(number) for number in numbers]
        return self.path.block(numbers)

    def boundaries(self) -> Boundaries:
        """One boundary per block, as `content_boundaries` makes them."""
        ends, total = [], 0
        for tokens in self.path.tokens[: self.length]:
            total += tokens
            ends.append(total)
        names = [part.section for part in self.path.parts[: self.length]]
        return Boundaries(
            ends, self.path.hashes[: self.length], names, list(range(1, self.length + 1))
        )
