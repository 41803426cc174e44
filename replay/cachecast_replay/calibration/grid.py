"""Which steps a calibration measures: new tokens, context and sequences, far apart and mixed.

The grid knows nothing of any log: a model that was fitted on the traffic it is judged by proves
nothing.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

_ALONE = 3  # measured so often in a scene: most steps of a server only decode


@dataclass(frozen=True, slots=True)
class Limits:
    """The most of each that is measured."""

    new_tokens: int = 512
    sequences: int = 16
    context_tokens: int = 1024


@dataclass(frozen=True, slots=True)
class Point:
    """One kind of step: `prompts` prompts of `new_tokens` new tokens each behind `prefix` cached
    ones (none if `prompts` is 0), beside the sequences that decode."""

    new_tokens: int
    prompts: int
    prefix: int


@dataclass(frozen=True, slots=True)
class Scene:
    """`sequences` requests that decode with about `context` tokens each, and the steps measured
    beside them."""

    sequences: int
    context: int
    points: tuple[Point, ...]


def scenes(limits: Limits, seed: int) -> list[Scene]:
    """The grid; the same for the same limits and seed."""
    draw = random.Random(seed)
    counts = [0, *_halves(_powers(1, limits.sequences))]
    contexts = _powers(min(64, limits.context_tokens), limits.context_tokens, factor=4)
    return [
        Scene(count, context, tuple(_points(limits, count, draw)))
        for count in counts
        for context in (contexts if count else [0])
    ]


def _points(limits: Limits, decoding: int, draw: random.Random) -> Iterator[Point]:
    if decoding:
        yield from [Point(0, 0, 0)] * _ALONE
    room = limits.new_tokens - decoding
    sizes = [size for size in _powers(1, limits.new_tokens) if size <= room]
    if room >= 1 and room not in sizes:
        sizes.append(room)
    for size in sizes:
        yield Point(size, 1, 0)
        yield Point(size, 1, draw.choice(_powers(64, limits.context_tokens)))
    for prompts in (2, 4):
        size = draw.choice([s for s in sizes if s * prompts <= room] or [0])
        if size:
            yield Point(size, prompts, 0)


def _halves(sizes: list[int]) -> list[int]:
    """Between every two sizes their mean, where it is a whole number: 1, 2, 3, 4, 6, 8 …"""
    means = [(a + b) // 2 for a, b in pairwise(sizes) if (a + b) % 2 == 0]
    return sorted({*sizes, *means})


def _powers(first: int, last: int, factor: int = 2) -> list[int]:
    """first, first * factor … and `last` itself."""
    found = []
    value = first
    while value < last:
        found.append(value)
        value *= factor
    return [*found, last]
