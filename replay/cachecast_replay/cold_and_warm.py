"""A log that shows what a cached prefix saves: each long prefix is sent cold, then warm.

Requests are so far apart that none waits for another. Every pair has a prefix of its own; the two
prompts end differently.
"""

import json
import random
from collections.abc import Iterator, Sequence

END_TOKENS, OUTPUT_TOKENS = 32, 4
_APART_S = 100.0


def lines(prefixes: Sequence[int], rounds: int, vocabulary: int, seed: int = 0) -> Iterator[str]:
    """Token-id JSONL: `rounds` pairs a prefix length, with ids `LENGTH-ROUND-cold` and `-warm`."""
    draw = random.Random(seed)
    number = 0
    for turn in range(rounds):
        for size in draw.sample(list(prefixes), len(prefixes)):
            prefix = _tokens(draw, size, vocabulary)
            for state in ("cold", "warm"):
                row = {
                    "id": f"{size}-{turn}-{state}",
                    "arrival": number * _APART_S,
                    "prompt_token_ids": prefix + _tokens(draw, END_TOKENS, vocabulary),
                    "output_len": OUTPUT_TOKENS,
                    "output_token_ids": _tokens(draw, OUTPUT_TOKENS, vocabulary),
                }
                number += 1
                yield json.dumps(row) + "\n"


def _tokens(draw: random.Random, count: int, vocabulary: int) -> list[int]:
    return [draw.randrange(vocabulary) for _ in range(count)]
