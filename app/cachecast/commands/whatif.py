"""`cachecast whatif`: what changes to a log's prompts, markers or provider would have saved."""

from pathlib import Path

import click

from cachecast.log_options import Asked, log_options, opened
from cachecast.output import print_json
from cachecast.whatif_job import whatifs_of
from cachecast.whatif_report import whatif_json
from cachecast.whatif_table import print_whatifs


@click.command("whatif", short_help="Replay a log with changes: money, hits, who wins and loses.")
@log_options
@click.option(
    "--change", "changes", multiple=True, required=True, metavar="NAME=VALUE[,...]",
    help="One scenario; commas join changes. Repeat it to compare.",
)  # fmt: skip
def command(
    logs: tuple[Path, ...],
    models: tuple[str, ...],
    rates: Path | None,
    skip_bad: bool,
    as_json: bool,
    changes: tuple[str, ...],
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
    with opened(Asked(logs, models, rates, skip_bad), "whatif") as log:
        baseline, found = whatifs_of(log.trace, log.scenario, changes, log.catalog, log.report)
    if as_json:
        print_json(whatif_json(baseline, found))
    else:
        print_whatifs(baseline, found)
