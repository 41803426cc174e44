"""`cachecast why`: the cause of every miss, what it cost, and where the prompts part."""

import contextlib
from pathlib import Path

import click

from cachecast.log_options import Asked, log_options, opened
from cachecast.output import json_line, print_json
from cachecast.why_job import ask
from cachecast.why_report import answer_json, why_json
from cachecast.why_table import print_why
from cachecast_datasets.kept_texts import kept_texts


@click.command("why", short_help="Why requests missed, to the character, and what it cost.")
@log_options
@click.option("--where", metavar="SQL", help="Count only these rows; the cache still sees all.")
@click.option("--no-text", is_flag=True, help="Look at hashes only, even where there are texts.")
@click.option("--per-request", is_flag=True, help="One line for each request that missed.")
def command(
    logs: tuple[Path, ...],
    models: tuple[str, ...],
    rates: Path | None,
    skip_bad: bool,
    as_json: bool,
    where: str | None,
    no_text: bool,
    per_request: bool,
) -> None:
    """Name the cause of every miss in LOG and the money it cost, the dearest first.

    Each prompt is compared with the one that it continues. Texts say most: a Parquet needs those
    that `cachecast import --keep-text` put beside it, other logs are read as they are (their texts
    lie in a temporary file meanwhile). docs/why.md explains the causes.

    \b
    Example:
      cachecast why log.jsonl --as claude-opus-5
    """
    asked = Asked(logs, models, rates, skip_bad)
    with contextlib.ExitStack() as stack:
        found = stack.enter_context(opened(asked, "why", keep_text=not no_text))
        texts = None if no_text else kept_texts(found.trace.path)
        if texts is not None:
            stack.enter_context(texts)
        why = ask(
            found.trace, found.scenario, found.catalog,
            texts=texts, where=where, keep_rows=per_request, report=found.report,
        )  # fmt: skip
    if per_request:
        for row, finding in why.rows:
            click.echo(json_line(answer_json(why.scenario.name, row, finding)), nl=False)
    elif as_json:
        print_json(why_json(why))
    else:
        print_why(why, asked.command_line())
