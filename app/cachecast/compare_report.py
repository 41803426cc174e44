"""A comparison as JSON (design §10) and as tables."""

from collections.abc import Sequence
from typing import Any

import click
import numpy as np
from rich import box
from rich.table import Table

from cachecast.comparing import Comparison
from cachecast.output import print_table, tokens
from cachecast_replay.comparison.errors import Errors
from cachecast_replay.comparison.runs import Floats

_STYLES = {"pass": "green", "fail": "red", "inconclusive": "yellow"}
_MOST_NAMES = 10


def comparison_json(found: Comparison) -> dict[str, Any]:
    """What `compare --json` prints."""
    floor, again = found.floor, found.floor_mismatches
    forced = None
    if found.teacher_ttft is not None or found.teacher_itl is not None:
        forced = {"ttft": _errors(found.teacher_ttft), "itl": _errors(found.teacher_itl)}
    raw = None
    if found.raw is not None:
        by_floor = found.raw.floor
        raw = {
            "ttft": _errors(found.raw.ttft, None if by_floor is None else by_floor.ttft),
            "itl": _errors(found.raw.itl, None if by_floor is None else by_floor.itl),
        }
    return {
        "mode": found.mode,
        "requests": len(found.measured),
        "left_out": found.left_out,
        "verdict": found.verdict,
        "why": found.why,
        "hit_tokens": {
            "predicted": known_sum(found.predicted.hit_tokens),
            "measured": known_sum(found.measured.hit_tokens),
            "unknown_requests": len(found.mismatches.unknown_hits),
            "unknown_ids": found.mismatches.unknown_hits,
            "mismatched_requests": len(found.mismatches.hit_tokens),
            "mismatched_ids": found.mismatches.hit_tokens,
            "floor_mismatched_requests": None if again is None else len(again.hit_tokens),
        },
        "readmissions": _named(found.mismatches.readmission_hit_tokens),
        "preemptions": _named(found.mismatches.preemptions),
        "steps": {
            "mismatched": found.mismatches.steps,
            "first_mismatched": found.mismatches.first_step,
        },
        "ttft": _errors(found.ttft, None if floor is None else floor.ttft),
        "itl": _errors(found.itl, None if floor is None else floor.itl),
        "e2e": _errors(found.e2e),
        "teacher_forced": forced,
        "raw_clock": raw,
    }


def known_sum(counts: Floats) -> int | None:
    """Of those that are known; None if none is."""
    known = counts[np.isfinite(counts)]
    return int(known.sum()) if len(known) else None


def _named(ids: list[str]) -> dict[str, Any]:
    return {"mismatched_requests": len(ids), "mismatched_ids": ids}


def _errors(found: Errors | None, floor: Errors | None = None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "mean_abs_pct": found.mean_abs_pct,
        "p50_abs_pct": found.p50_abs_pct,
        "p90_abs_pct": found.p90_abs_pct,
        "p99_abs_pct": found.p99_abs_pct,
        "bias_pct": found.bias_pct,
        "rank_correlation": found.rank_correlation,
        "noise_floor_pct": None if floor is None else floor.mean_abs_pct,
        "noise_floor_p90_pct": None if floor is None else floor.p90_abs_pct,
    }


def print_comparison(found: Comparison) -> None:
    """Agreement, errors and the verdict."""
    print_table(_agreement(found))
    print_table(_error_table(found))
    style = _STYLES[found.verdict]
    click.echo(click.style(found.verdict.upper(), fg=style, bold=True) + f": {found.why}")
    unknown = found.mismatches.unknown_hits
    if unknown:
        shown = ", ".join(unknown[:_MOST_NAMES]) + (" …" if len(unknown) > _MOST_NAMES else "")
        click.echo(f"hit tokens of {len(unknown):,} requests are unknown and left out: {shown}")
    if found.left_out:
        click.echo(f"{found.left_out:,} requests are completed in one of the runs only")


def _agreement(found: Comparison) -> Table:
    count = len(found.measured)
    mode = found.mode.replace("_", "-")
    table = _table(
        f"{mode}: {count:,} requests", ("", "predicted", "measured", "differ in", "which")
    )
    wrong, again = found.mismatches, found.floor_mismatches
    hits = [tokens(known_sum(run.hit_tokens)) for run in (found.predicted, found.measured)]
    taken = [tokens(known_sum(run.preemptions)) for run in (found.predicted, found.measured)]
    compared = count - len(wrong.unknown_hits)
    table.add_row("hit tokens", *hits, *_cells(wrong.hit_tokens, compared))
    if "unknown" not in taken:
        table.add_row("preemptions", *taken, *_cells(wrong.preemptions, count))
        table.add_row("readmission hits", "", "", *_cells(wrong.readmission_hit_tokens, count))
    if wrong.steps is not None:
        where = "" if wrong.first_step is None else f"first: step {wrong.first_step}"
        table.add_row("steps", "", "", f"{wrong.steps:,}", where)
    if again is not None:
        table.add_row("hits of two replays", "", "", *_cells(again.hit_tokens, count))
    return table


def _cells(ids: Sequence[str], count: int) -> tuple[str, str]:
    shown = ", ".join(ids[:_MOST_NAMES]) + (" …" if len(ids) > _MOST_NAMES else "")
    return f"{len(ids):,} of {count:,}", shown


def _error_table(found: Comparison) -> Table:
    table = _table(
        "error in % of what was measured", ("", "mean", "p50", "p90", "p99", "bias", "rank corr.")
    )
    rows = [
        ("TTFT", found.ttft), ("ITL", found.itl), ("E2E", found.e2e),
        ("TTFT, measured schedule", found.teacher_ttft),
        ("ITL, measured schedule", found.teacher_itl),
    ]  # fmt: skip
    if found.floor is not None:
        rows += [("TTFT of two replays", found.floor.ttft), ("ITL of two replays", found.floor.itl)]
    if found.raw is not None:
        rows += [("TTFT, raw clock", found.raw.ttft), ("ITL, raw clock", found.raw.itl)]
        if found.raw.floor is not None:
            rows += [
                ("TTFT of two replays, raw clock", found.raw.floor.ttft),
                ("ITL of two replays, raw clock", found.raw.floor.itl),
            ]
    for label, part in rows:
        if part is not None:
            sizes = (part.mean_abs_pct, part.p50_abs_pct, part.p90_abs_pct, part.p99_abs_pct)
            corr = "–" if part.rank_correlation is None else f"{part.rank_correlation:.3f}"
            table.add_row(label, *(f"{n:.1f}" for n in sizes), f"{part.bias_pct:+.1f}", corr)
    return table


def _table(title: str, columns: Sequence[str]) -> Table:
    table = Table(title=title, title_justify="left", header_style="bold", box=box.SIMPLE_HEAD)
    for number, column in enumerate(columns):
        table.add_column(column, justify="right" if 0 < number < 7 else "left", no_wrap=True)
    return table
