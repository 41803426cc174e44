"""`cachecast optimize`: where to put cache markers, proven over the whole log."""

import contextlib
import tempfile
from pathlib import Path

import click

from cachecast.output import notes, print_json
from cachecast.progress import progress
from cachecast.scenarios import scenario_of
from cachecast_datasets.errors import BadInput
from cachecast_datasets.importing import open_or_import
from cachecast_pricing.catalog import load_catalog


@click.command("optimize", short_help="The best cache markers for a log, every policy judged.")
@click.argument("logs", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="LOG...")
@click.option(
    "--as", "models", multiple=True, metavar="MODEL[,key=value]",
    help="Rules and prices (as in `bill`; `log`, the default: each request's own model).",
)  # fmt: skip
@click.option("--rates", type=click.Path(path_type=Path), help="Negotiated prices (TOML).")
@click.option("--skip-bad", is_flag=True, help="Leave out bad rows and count them.")
@click.option("--json", "as_json", is_flag=True, help="The machine-readable contract.")
def command(
    logs: tuple[Path, ...],
    models: tuple[str, ...],
    rates: Path | None,
    skip_bad: bool,
    as_json: bool,
) -> None:
    """Judge every policy of markers and keep-alive pings over LOG and say which to follow.

    A policy is up to four marker places, 5m or 1h each, with or without pings, the same for the
    whole log. The winner is replayed by the way that `bill` goes, against the log's own policy
    and two bounds. For Anthropic's models; docs/optimize.md has the space and the proof.

    Example:  cachecast optimize log.jsonl --as claude-opus-5
    """
    from cachecast.optimize_job import optimum_of  # numba takes its time

    catalog = load_catalog(rates)
    for remark in catalog.notes:
        notes.print(f"note: {remark}", markup=False)
    if len(models) > 1:
        raise BadInput(f"--as {models[1]}: optimize takes one model a run")
    scenario = scenario_of(models[0] if models else "log", catalog)
    with contextlib.ExitStack() as stack:
        tmp = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="cachecast-")))
        report = stack.enter_context(progress())
        trace = open_or_import(list(logs), skip_bad=skip_bad, tmp_dir=tmp, progress=report)
        for warning in trace.warnings:
            notes.print(f"note: {warning}", markup=False)
        found = optimum_of(trace, scenario, catalog, report)
    if as_json:
        from cachecast.optimize_report import optimum_json

        print_json(optimum_json(found))
        return
    from cachecast.optimize_table import print_optimum

    print_optimum(found, scenario.name)
