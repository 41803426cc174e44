"""Curves as the machine-readable contract has them."""

from typing import Any

from cachecast.curve_job import Answer
from cachecast_pricing.money import decimal_string, per_mtok_string
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
        "worth": worth_json(answer),
        "ideal": _point(answer, curves.ideal),
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
        {
            "blocks": blocks,
            "gib": answer.gib(blocks),
            **_point(answer, answer.curves.at_capacity(blocks)),
        }
        for blocks in answer.many_capacities
    ]


def ttl_rows(answer: Answer) -> list[dict[str, Any]]:
    """One row a lifetime."""
    refresh = answer.question.refresh
    return [
        {"ttl_s": seconds(life_us), "refresh": refresh, **_point(answer, answer.at_ttl(life_us))}
        for life_us in answer.many_lives_us
    ]


def seconds(us: int) -> int | float:
    """A whole number where it is one."""
    return us // _SECOND if us % _SECOND == 0 else us / _SECOND


def worth_json(answer: Answer) -> dict[str, Any] | None:
    """At which prices hits are money, per million tokens; and all prompt tokens uncached."""
    worth, tokens = answer.question.worth, answer.curves.prompt_tokens
    if worth is None:
        return None
    return {
        "name": worth.name,
        "currency": worth.currency,
        "input_per_mtok": per_mtok_string(worth.fresh),
        "read_per_mtok": per_mtok_string(worth.read),
        "without_cache": None if tokens is None else decimal_string(tokens * worth.fresh),
    }


def _point(answer: Answer, found: Ratios) -> dict[str, Any]:
    saved = answer.saved(found)
    return {
        "hit_tokens": found.hit_tokens,
        "saved": None if saved is None else decimal_string(saved),
        "block_hit_ratio": found.blocks,
        "token_hit_ratio": found.tokens,
        "block_hit_ratio_interval": found.blocks_interval,
        "token_hit_ratio_interval": found.tokens_interval,
    }
