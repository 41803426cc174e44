"""`cachecast why`: the cause of every miss, what it cost, and where the prompts part."""

import contextlib
import tempfile
from pathlib import Path

import click

from cachecast.output import json_line, notes, print_json
from cachecast.progress import progress
from cachecast.scenarios import scenario_of
from cachecast.why_job import ask
from cachecast.why_report import answer_json, why_json
from cachecast.why_table import print_why
from cachecast_datasets.importing import open_or_import
from cachecast_datasets.kept_texts import kept_texts
from cachecast_pricing.catalog import load_catalog


@click.command("why", short_help="Why requests missed, to the character, and what it cost.")
@click.argument("logs", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="LOG...")
@click.option(
    "--as", "model", default="log", metavar="MODEL[,key=value]", show_default=True,
    help="Rules and prices to replay under, as in `bill`; `log`: each request's own model.",
)  # fmt: skip
@click.option("--where", metavar="SQL", help="Count only these rows; the cache still sees all.")
@click.option("--rates", type=click.Path(path_type=Path), help="Negotiated prices (TOML).")
@click.option("--skip-bad", is_flag=True, help="Leave out bad rows and count them.")
@click.option("--no-text", is_flag=True, help="Look at hashes only, even where there are texts.")
@click.option("--per-request", is_flag=True, help="One line for each request that missed.")
@click.option("--json", "as_json", is_flag=True, help="The machine-readable contract.")
def command(
    logs: tuple[Path, ...],
    model: str,
    where: str | None,
    rates: Path | None,
    skip_bad: bool,
    no_text: bool,
    per_request: bool,
    as_json: bool,
) -> None:
    """Name the cause of every miss in LOG and the money it cost, the dearest first.

    Each prompt is compared with the one that it continues. Texts say most: a Parquet needs those
    that `cachecast import --keep-text` put beside it, other logs are read as they are (their texts
    lie in a temporary file meanwhile). docs/why.md explains the causes.

    \b
    Example:
      cachecast why log.jsonl --as claude-opus-5
    """
    catalog = load_catalog(rates)
    for remark in catalog.notes:
        notes.print(f"note: {remark}", markup=False)
    scenario = scenario_of(model, catalog)
    with contextlib.ExitStack() as stack:
        tmp = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="cachecast-")))
        report = stack.enter_context(progress())
        trace = open_or_import(
            list(logs), skip_bad=skip_bad, tmp_dir=tmp, progress=report, keep_text=not no_text
        )
        for warning in trace.warnings:
            if "--keep-text" not in warning:  # nobody asked for it here
                notes.print(f"note: {warning}", markup=False)
        texts = None if no_text else kept_texts(trace.path)
        if texts is not None:
            stack.enter_context(texts)
        why = ask(
            trace, scenario, catalog, texts=texts, where=where, keep_rows=per_request, report=report
        )
    if per_request:
        for row, finding in why.rows:
            click.echo(json_line(answer_json(scenario.name, row, finding)), nl=False)
        return
    if as_json:
        print_json(why_json(why))
        return
    print_why(why)
