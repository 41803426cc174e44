"""OpenAI before 5.6 as the fact sheet has it: every earlier prompt, block by block.

For logs shorter than any lifetime.
"""

from typing import Any

from rule_sketches import Line


def interval_reads(lines: list[Line], step: int, hidden: int) -> list[int]:
    """Read tokens with a breakpoint every `step` tokens, counted from the hidden text on."""
    found = []
    stored: list[tuple[float, Line]] = []  # (first token, request)
    for entry in lines:
        seen = [old for start, old in stored if start <= entry["at"] and scope(old) == scope(entry)]
        shared = max((common_tokens(entry, old) for old in seen), default=0)
        visible = (shared + hidden) // step * step - hidden
        cached = visible // 128 * 128
        found.append(cached if cached >= 1024 else 0)
        if entry["ttft"] is not None:
            stored.append((entry["at"] + entry["ttft"], entry))
    return found


def scope(entry: Line) -> tuple[Any, Any]:
    return entry["account"], entry["model"]


def common_tokens(one: Line, other: Line) -> int:
    tokens = 0
    for a, b in zip(one["prompt"], other["prompt"], strict=False):
        if a[:2] != b[:2]:
            break
        tokens += a[2]
    return tokens
