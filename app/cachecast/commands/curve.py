"""`cachecast curve`: how much cache buys how much hit ratio."""

import contextlib
import tempfile
from pathlib import Path

import click

from cachecast.curve_options import (
    bytes_per_token_of,
    capacities_of,
    lives_us_of,
    rate_of,
    worth_of,
)
from cachecast.output import notes, print_json
from cachecast.progress import progress
from cachecast.vain_options import check_force
from cachecast_datasets.importing import open_or_import


@click.command("curve")
@click.argument("logs", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="LOG...")
@click.option(
    "--block-tokens", type=click.IntRange(1, 2**31 - 1), metavar="N",
    help="Tokens of a block: a divisor or a multiple of the log's.",
)  # fmt: skip
@click.option("--capacity", metavar="N,...", help="Capacities in blocks [well-chosen ones].")
@click.option("--ttl", metavar="S,...", help="Lifetimes in seconds [well-chosen ones].")
@click.option(
    "--refresh/--no-refresh", default=True,
    help="Whether a use prolongs a lifetime, or it counts from the write [refresh].",
)  # fmt: skip
@click.option("--gib", is_flag=True, help="Capacities in GiB too; needs --model.")
@click.option("--model", metavar="SHAPE", help="The model whose KV cache it is.")
@click.option(
    "--kv-bytes-per-token", type=click.IntRange(1, 10**9), metavar="N",
    help="Bytes of KV cache a token, where --model does not know them.",
)  # fmt: skip
@click.option(
    "--as", "model_as", metavar="MODEL[,key=value]",
    help="The API model at whose prices the hits are money.",
)  # fmt: skip
@click.option("--sample", type=float, metavar="RATE", help="Follow this share of the blocks only.")
@click.option("--chart", type=click.Path(path_type=Path), metavar="FILE.svg|png|html|json")
@click.option("--force", is_flag=True, help="Replace an existing chart file.")
@click.option("--skip-bad", is_flag=True, help="Leave out bad rows and count them.")
@click.option("--json", "as_json", is_flag=True, help="The machine-readable contract.")
def command(
    logs: tuple[Path, ...],
    block_tokens: int | None,
    capacity: str | None,
    ttl: str | None,
    refresh: bool,
    gib: bool,
    model: str | None,
    kv_bytes_per_token: int | None,
    model_as: str | None,
    sample: float | None,
    chart: Path | None,
    force: bool,
    skip_bad: bool,
    as_json: bool,
) -> None:
    """Hit ratio of LOG at every capacity (LRU) and at every lifetime.

    One cache sees all requests in order of arrival; a request hits the longest run of its leading
    blocks that is there when it arrives. docs/curve.md says it exactly.

    Example:  cachecast curve log.jsonl --capacity 1000,3000 --ttl 60,300
    """
    # numba takes half a second: not for `cachecast --help`
    from cachecast.chart_file import check_chart, write_chart
    from cachecast.curve_chart import spec
    from cachecast.curve_job import Question, answer
    from cachecast.curve_report import curve_json
    from cachecast.curve_table import print_curves

    question = Question(
        block_tokens=block_tokens,
        capacities=None if capacity is None else capacities_of(capacity),
        lives_us=None if ttl is None else lives_us_of(ttl),
        refresh=refresh,
        sample=rate_of(sample),
        bytes_per_token=bytes_per_token_of(gib, model, kv_bytes_per_token),
        worth=worth_of(model_as),
    )
    check_force(force, ("--chart FILE", chart))
    if chart is not None:
        check_chart(chart, force)
    with contextlib.ExitStack() as stack:
        tmp = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="cachecast-")))
        report = stack.enter_context(progress())
        trace = open_or_import(list(logs), skip_bad=skip_bad, tmp_dir=tmp, progress=report)
        found = answer(trace, ", ".join(map(str, logs)), question, report)
    for warning in trace.warnings:
        notes.print(f"note: {warning}", markup=False, soft_wrap=True)
    if chart is not None:
        write_chart(chart, spec(found))
    if as_json:
        print_json(curve_json(found))
    else:
        print_curves(found)
