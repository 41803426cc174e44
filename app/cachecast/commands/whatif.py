"""`cachecast whatif`: what changes to a log's prompts, markers or provider would have saved."""

import contextlib
import tempfile
from pathlib import Path

import click

from cachecast.output import notes, print_json
from cachecast.progress import progress
from cachecast.scenarios import scenario_of
from cachecast.whatif_job import whatifs_of
from cachecast.whatif_report import whatif_json
from cachecast.whatif_table import print_whatifs
from cachecast_datasets.errors import BadInput
from cachecast_datasets.importing import open_or_import
from cachecast_pricing.catalog import load_catalog


@click.command("whatif", short_help="Replay a log with changes: money, hits, who wins and loses.")
@click.argument("logs", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="LOG...")
@click.option(
    "--as", "models", multiple=True, metavar="MODEL[,key=value]",
    help="Rules and prices of the baseline (as in `bill`; `log`, the default: each request's own).",
)  # fmt: skip
@click.option(
    "--change", "changes", multiple=True, required=True, metavar="NAME=VALUE[,...]",
    help="One scenario; commas join changes. Repeat it to compare.",
)  # fmt: skip
@click.option("--rates", type=click.Path(path_type=Path), help="Negotiated prices (TOML).")
@click.option("--skip-bad", is_flag=True, help="Leave out bad rows and count them.")
@click.option("--json", "as_json", is_flag=True, help="The machine-readable contract.")
def command(
    logs: tuple[Path, ...],
    models: tuple[str, ...],
    changes: tuple[str, ...],
    rates: Path | None,
    skip_bad: bool,
    as_json: bool,
) -> None:
    """Replay LOG as it is, then with each change, and compare.

    \b
    Changes (docs/whatif.md says what each does and takes for granted):
      ttl=1h, ttl=1h/5m, mark=POLICY, mark=tools:1h+end:5m    markers
      keep-alive=290x3, keep-alive=290x3:paying               pings in pauses
      prewarm=SECONDS                                         before a session starts
      volatile=drop|move, order=stable|tools|keys, summary=last, compaction=TOKENS
      tenant=shared|session, cache-key=session|account|none   who shares a cache
      model=MODEL, batch=on, tier=TIER, any other key of --as
      response=exact[:SECONDS]                                a cache of whole answers
      fleet=FILE                                              servers of your own

    Savings are net of what the writes and pings cost, against the replayed baseline.

    \b
    Example:
      cachecast whatif log.jsonl --as claude-opus-5 --change ttl=1h --change keep-alive=290x3
    """
    catalog = load_catalog(rates)
    for remark in catalog.notes:
        notes.print(f"note: {remark}", markup=False)
    if len(models) > 1:
        raise BadInput(f"--as {models[1]}: whatif takes one baseline; use --change model=")
    scenario = scenario_of(models[0] if models else "log", catalog)
    with contextlib.ExitStack() as stack:
        tmp = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="cachecast-")))
        report = stack.enter_context(progress())
        trace = open_or_import(list(logs), skip_bad=skip_bad, tmp_dir=tmp, progress=report)
        for warning in trace.warnings:
            notes.print(f"note: {warning}", markup=False)
        baseline, found = whatifs_of(trace, scenario, changes, catalog, report)
    if as_json:
        print_json(whatif_json(baseline, found))
        return
    print_whatifs(baseline, found)
