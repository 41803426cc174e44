"""Curves as the machine-readable contract has them."""

from typing import Any

from cachecast.curve_job import Answer
from cachecast_sim.curve.curves import Ratios

_SECOND = 1_000_000


def curve_json(answer: Answer) -> dict[str, Any]:
    """The whole answer; lists hold the points asked for, else enough of them to draw."""
    curves = answer.curves
    sample = None
    if curves.sample is not None:
        sample = {"rate": curves.sample, "blocks": curves.sampled_blocks, "confidence": 0.95}
    return {
        "requests": curves.requests,
        "block_tokens": curves.block_tokens,
        "unique_blocks": curves.unique_blocks,
        "total_blocks": curves.total_blocks,
        "prompt_tokens": curves.prompt_tokens,
        "kv_bytes_per_token": answer.question.bytes_per_token,
        "sample": sample,
        "ideal": _ratios(curves.ideal),
        "reached": [
            {
                "share": float(reached.share),
                "blocks": reached.blocks,
                "gib": answer.gib(reached.blocks),
                "ttl_s": None if reached.ttl_us is None else seconds(reached.ttl_us),
            }
            for reached in answer.reached()
        ],
        "capacity": capacity_rows(answer),
        "ttl": ttl_rows(answer),
        "notes": answer.notes,
    }


def capacity_rows(answer: Answer) -> list[dict[str, Any]]:
    """One row a capacity."""
    return [
        {"blocks": blocks, "gib": answer.gib(blocks), **_ratios(answer.curves.at_capacity(blocks))}
        for blocks in answer.many_capacities
    ]


def ttl_rows(answer: Answer) -> list[dict[str, Any]]:
    """One row a lifetime."""
    refresh = answer.question.refresh
    return [
        {"ttl_s": seconds(life_us), "refresh": refresh, **_ratios(answer.at_ttl(life_us))}
        for life_us in answer.many_lives_us
    ]


def seconds(us: int) -> int | float:
    """A whole number where it is one."""
    return us // _SECOND if us % _SECOND == 0 else us / _SECOND


def _ratios(found: Ratios) -> dict[str, Any]:
    return {
        "block_hit_ratio": found.blocks,
        "token_hit_ratio": found.tokens,
        "block_hit_ratio_interval": found.blocks_interval,
        "token_hit_ratio_interval": found.tokens_interval,
    }
