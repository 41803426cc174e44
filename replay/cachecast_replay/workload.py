"""A small agent workload in token ids, for checking predictions: stated sizes, a seed, no text.

Sessions share a system prompt, each turn repeats the history with the answer that was forced, and
tool results make prompts grow, as coding agents do.
"""

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Agents:
    """Sessions of a few turns; token counts are drawn evenly between the two numbers of a pair.

    `spacing_s`: mean of the exponential gaps between the sessions' first turns, and
    `pause_s` of the pauses before the other turns. `burst`: so many sessions begin at once.
    """

    sessions: int = 15
    turns: int = 4
    system_tokens: int = 192
    user_tokens: tuple[int, int] = (48, 320)
    output_tokens: tuple[int, int] = (16, 64)
    spacing_s: float = 1.0
    pause_s: float = 2.0
    burst: int = 1
    vocabulary: int = 4096


def requests(agents: Agents, seed: int) -> list[dict[str, Any]]:
    """The token-id JSONL's rows, by arrival; the same for the same agents and seed."""
    draw = random.Random(seed)
    system = _tokens(draw, agents.system_tokens, agents.vocabulary)
    rows: list[dict[str, Any]] = []
    start_s = 0.0
    for session in range(agents.sessions):
        if session % agents.burst == 0:
            start_s += draw.expovariate(1 / (agents.spacing_s * agents.burst))
        rows += _session(agents, draw, system, start_s)
    rows.sort(key=lambda row: float(row["arrival"]))
    for number, row in enumerate(rows):
        row["id"] = f"r{number}"
    return rows


def lines(agents: Agents, seed: int, stretch: float = 1.0) -> Iterator[str]:
    """The same as lines of JSON; all times longer by `stretch`."""
    for row in requests(agents, seed):
        yield json.dumps({**row, "arrival": round(row["arrival"] * stretch, 6)}) + "\n"


def _session(
    agents: Agents, draw: random.Random, system: list[int], at_s: float
) -> Iterator[dict[str, Any]]:
    history = list(system)
    for turn in range(agents.turns):
        if turn:
            at_s += draw.expovariate(1 / agents.pause_s)
        history += _tokens(draw, draw.randint(*agents.user_tokens), agents.vocabulary)
        answer = _tokens(draw, draw.randint(*agents.output_tokens), agents.vocabulary)
        yield {
            "arrival": at_s,
            "prompt_token_ids": list(history),
            "output_len": len(answer),
            "output_token_ids": answer,
        }
        history += answer


def _tokens(draw: random.Random, count: int, vocabulary: int) -> list[int]:
    return [draw.randrange(vocabulary) for _ in range(count)]
