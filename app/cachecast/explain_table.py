"""What `explain` shows, as tables and as JSON."""

from collections.abc import Sequence
from typing import Any

from rich import box
from rich.table import Table

from cachecast.output import money_column, print_table, tokens
from cachecast_pricing.money import decimal_string, to_decimal
from cachecast_sim.latency.kv_memory import kv_bytes_per_token
from cachecast_sim.latency.shape import ModelShape
from cachecast_sim.mechanics import (
    BLOCK_TOKENS,
    DIMENSION,
    PROMPT,
    STEPS,
    BreakEven,
    edits,
    multiply_adds,
)

_GIB = 2**30
_MTOK = 1_000_000


def explain_json(
    model: str, currency: str, rows: Sequence[BreakEven], name: str, shape: ModelShape, context: int
) -> dict[str, Any]:
    """The document of `explain --json`."""
    without, with_cache = (multiply_adds(DIMENSION, STEPS, cached) for cached in (False, True))
    a_token = kv_bytes_per_token(shape)
    return {
        "edits": {
            "prompt_tokens": len(PROMPT.split()),
            "block_tokens": BLOCK_TOKENS,
            "after": [
                {"edit": e.name, "tokens": e.tokens, "hit_tokens": e.hit_tokens} for e in edits()
            ],
        },
        "attention": {
            "dimension": DIMENSION,
            "steps": STEPS,
            "multiply_adds_without_cache": without,
            "multiply_adds_with_cache": with_cache,
            "ratio": without / with_cache,
        },
        "kv": {
            "model": name,
            "bytes_per_token": a_token,
            "context_tokens": context,
            "bytes": a_token * context,
        },
        "break_even": {
            "model": model,
            "currency": currency,
            "writes": [
                {
                    "lifetime": row.lifetime,
                    "write_per_mtok": decimal_string(row.write * _MTOK),
                    "read_per_mtok": decimal_string(row.read * _MTOK),
                    "fresh_per_mtok": decimal_string(row.fresh * _MTOK),
                    "reads": row.reads,
                }
                for row in rows
            ],
        },
    }


def print_explained(
    model: str, currency: str, rows: Sequence[BreakEven], name: str, shape: ModelShape, context: int
) -> None:
    """Four small tables."""
    print_table(_edits())
    print_table(_attention())
    print_table(_kv(name, shape, context))
    print_table(_break_even(model, currency, rows))


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", header_style="bold", box=box.SIMPLE_HEAD)
    table.add_column(columns[0], no_wrap=True)
    for column in columns[1:]:
        table.add_column(column, justify="right", no_wrap=True)
    return table


def _edits() -> Table:
    held = len(PROMPT.split())
    table = _table(
        f"1. What an edit leaves of {held} tokens, held in blocks of {BLOCK_TOKENS}",
        "edit", "", "tokens", "hit tokens",
    )  # fmt: skip
    for edit in edits():
        table.add_row(edit.name, edit.what, tokens(edit.tokens), tokens(edit.hit_tokens))
    table.caption = "a block is found again only if everything before it is the same"
    return table


def _attention() -> Table:
    # a title or caption that is wider than its table would be wrapped
    table = _table(
        "2. What a KV cache saves in one attention layer", "", "a step takes", "multiply-adds"
    )
    table.caption = f"d = {DIMENSION}, the sum over steps t = 1 … {STEPS}"
    without, with_cache = (multiply_adds(DIMENSION, STEPS, cached) for cached in (False, True))
    table.add_row("without a cache", "(2t + 1)d² + td", tokens(without))
    table.add_row("with one", "3d² + td", tokens(with_cache))
    table.add_row("ratio", "", f"{without / with_cache:.1f}×")
    return table


def _kv(name: str, shape: ModelShape, context: int) -> Table:
    a_token = kv_bytes_per_token(shape)
    table = _table(f"3. What it takes: {name}", "", "bytes", "GiB")
    table.add_row("a token", tokens(a_token), f"{a_token / _GIB:.6f}")
    total = a_token * context
    table.add_row(f"{context:,} tokens of context", tokens(total), f"{total / _GIB:.2f}")
    return table


def _break_even(model: str, currency: str, rows: Sequence[BreakEven]) -> Table:
    table = _table(
        f"4. When a write pays: {model}",
        "lifetime", "write", "read", "plain input", "pays after",
    )  # fmt: skip
    for row in rows:
        prices = [to_decimal(p * _MTOK) for p in (row.write, row.read, row.fresh)]
        reads = "never" if row.reads is None else f"{row.reads} read{'s' * (row.reads != 1)}"
        table.add_row(row.lifetime, *money_column(prices, currency), reads)
    table.caption = "prices a million tokens; after the least n with\n"
    table.caption += "write + n · read < (n + 1) · plain input"
    if not rows:
        table.caption = "this model has no price for writes: what is stored costs nothing extra"
    return table
