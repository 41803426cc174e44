"""Which steps a calibration measures: new tokens, context and sequences, far apart and mixed.

The grid knows nothing of any log: a model that was fitted on the traffic it is judged by proves
nothing.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

_ALONE = 3  # measured so often in a scene: most steps of a server only decode
_SINGLE = 8  # up to so many sequences every number is measured: few rows cost steps, not a line
_FEW = 16  # new tokens, at most, of the steps of a short scene


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
    """`sequences` requests that decode with about `context` tokens each, the first `shared` of them
    the same for all, and the steps measured beside them."""

    sequences: int
    context: int
    points: tuple[Point, ...]
    shared: int = 0


def scenes(limits: Limits, seed: int) -> list[Scene]:
    """The grid; the same for the same limits and seed."""
    draw = random.Random(seed)
    counts = [0, *_halves(_powers(1, limits.sequences))]
    contexts = _powers(min(64, limits.context_tokens), limits.context_tokens, factor=4)
    found = [
        Scene(count, context, tuple(_points(limits, count, draw)))
        for count in counts
        for context in (contexts if count else [0])
    ]
    few_rows = set(range(1, min(_SINGLE, limits.sequences) + 1))
    for count in sorted(few_rows - set(counts)):
        ends = sorted({contexts[0], contexts[-1]})
        found += [Scene(count, context, _few_points(limits, count)) for context in ends]
    longest = limits.context_tokens
    for count in _powers(2, limits.sequences) if limits.sequences > 1 else []:
        found.append(Scene(count, longest, _few_points(limits, count), longest * 3 // 4))
    return found


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


def _few_points(limits: Limits, decoding: int) -> tuple[Point, ...]:
    """Decoding alone, and small prompts without a prefix."""
    sizes = _powers(1, min(_FEW, limits.new_tokens))
    room = limits.new_tokens - decoding
    alone = [Point(0, 0, 0)] * _ALONE
    return (*alone, *(Point(size, 1, 0) for size in sizes if size <= room))


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
