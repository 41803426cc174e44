"""`cachecast optimize`: where to put cache markers, proven over the whole log."""

from pathlib import Path

import click

from cachecast.log_options import Asked, log_options, opened
from cachecast.output import print_json


@click.command("optimize", short_help="The best cache markers for a log, every policy judged.")
@log_options
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
    from cachecast.optimize_report import optimum_json
    from cachecast.optimize_table import print_optimum

    asked = Asked(logs, models, rates, skip_bad)
    with opened(asked, "optimize") as log:
        found = optimum_of(log.trace, log.scenario, log.catalog, log.report)
    if as_json:
        print_json(optimum_json(found))
    else:
        print_optimum(found, log.scenario.name)
