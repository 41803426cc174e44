"""Steps before the first measured one: libraries make their kernels for each new size of a step.

On a CPU the first step of a size takes some 3 ms longer (docs/validation.md); a replay that begins
cold would charge that to the requests that happen to come first.
"""

import random
from collections.abc import Iterator

from cachecast_replay.runner import Engine

_EACH_UP_TO = 64
_PARTS = 16  # above, sizes are taken so many to a doubling


def sizes(largest: int) -> Iterator[int]:
    """Sizes of a step, every one up to 64 and sixteen to a doubling from there to `largest`."""
    size = 1
    while size < largest:
        yield size
        step = 1
        while step * _PARTS * 2 <= size:
            step *= 2
        size += 1 if size < _EACH_UP_TO else step
    yield largest


def warm_up(engine: Engine, vocabulary: int, largest: int, most_tokens: int) -> int:
    """Run one step of each size, with prompts that nobody shares. How many steps it took.

    What they leave in the cache is nobody's prefix and is evicted first, as empty blocks would be
    taken first. `most_tokens` is what the engine's cache can hold.
    """
    draw = random.Random(0)
    steps = 0
    for size in sizes(min(largest, most_tokens)):
        engine.add(f"warm-up-{size}-{steps}", [draw.randrange(vocabulary) for _ in range(size)], 1)
        while engine.step() is not None:
            steps += 1
    return steps
