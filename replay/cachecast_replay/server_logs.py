"""Logs of token ids for a real server, and what its answers say of its steps.

The answers are left out of later prompts: a server's are its own.
"""

import random
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

VOCABULARY = 1000


def agent_log(sessions: int = 12, turns: int = 6, seed: int = 0) -> list[dict[str, Any]]:
    """Sessions of an agent that share 650 tokens of instructions and grow by each turn.

    Arrivals 0.1 s apart on average; sizes are no multiples of a block.
    """
    draw = random.Random(seed)

    def drawn(low: int, high: int) -> list[int]:
        return [draw.randrange(VOCABULARY) for _ in range(draw.randint(low, high))]

    shared = drawn(650, 650)
    history = [shared + drawn(20, 120) for _ in range(sessions)]
    rows: list[dict[str, Any]] = []
    at_s = 0.0
    for _ in range(turns):
        for session in draw.sample(range(sessions), sessions):
            at_s += draw.expovariate(10.0)
            output = draw.randint(8, 40)
            rows.append(_row(len(rows), at_s, history[session], output))
            # a later turn's answer is not what this server said, so it is computed anew
            history[session] = history[session] + drawn(output + 20, output + 150)
    return rows


def sizes_log(most: int, seed: int = 1) -> list[dict[str, Any]]:
    """Prompts of 32 tokens to a full step, three of each size, that share nothing."""
    draw = random.Random(seed)
    sizes = [int(size) for size in np.geomspace(32, most, 8)] * 3
    draw.shuffle(sizes)
    prompts = [[draw.randrange(VOCABULARY) for _ in range(size)] for size in sizes]
    return [_row(number, number, prompt, 8) for number, prompt in enumerate(prompts)]


def step_model(rows: Sequence[Mapping[str, float]]) -> tuple[float, float]:
    """(step_base_s, per_token_s): the slope of TTFT over prompt tokens, and the decode step.

    Medians of ITL and of each size's TTFT; a first token's way through HTTP is not in it.
    """
    sizes = sorted({row["prompt_tokens"] for row in rows})
    of_size = [[row["ttft_s"] for row in rows if row["prompt_tokens"] == size] for size in sizes]
    ttft = [float(np.median(times)) for times in of_size]
    per_token_s = max(0.0, float(np.polyfit(sizes, ttft, 1)[0]))
    base_s = float(np.median([row["itl_s"] for row in rows])) - per_token_s
    return max(0.0, base_s), per_token_s


def longest_tokens(rows: Sequence[Mapping[str, Any]]) -> int:
    """Of the longest request, its answer included: vLLM wants room for as many in its smallest
    cache."""
    return max(len(row["prompt_token_ids"]) + int(row["output_len"]) for row in rows)


def _row(number: int, at_s: float, prompt: list[int], output: int) -> dict[str, Any]:
    return {"id": number, "arrival": at_s, "prompt_token_ids": prompt, "output_len": output}
