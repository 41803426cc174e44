"""`cachecast compare`: is the prediction true?"""

from pathlib import Path

import click

from cachecast.chart_file import check_chart, write_chart
from cachecast.compare_chart import spec
from cachecast.compare_report import comparison_json, print_comparison
from cachecast.comparing import compare, read_run
from cachecast.output import print_json, verdict
from cachecast.vain_options import check_force

_CODES = {"pass": 0, "fail": 1, "inconclusive": 3}


@click.command("compare", short_help="Set a prediction beside a measurement.")
@click.argument("predicted", type=click.Path(path_type=Path))
@click.argument("measured", type=click.Path(path_type=Path))
@click.option(
    "--again", type=click.Path(path_type=Path), metavar="MEASURED2",
    help="A second replay: what differs between two replays is the noise floor.",
)  # fmt: skip
@click.option("--chart", type=click.Path(path_type=Path), metavar="FILE.svg|png|html|json",
    help="Predicted against measured, a panel a metric.")  # fmt: skip
@click.option("--force", is_flag=True, help="Replace an existing chart file.")
@click.option("--json", "as_json", is_flag=True, help="The machine-readable contract.")
def command(
    predicted: Path, measured: Path, again: Path | None, chart: Path | None, force: bool,
    as_json: bool,
) -> int:  # fmt: skip
    """Set a run of `simulate` (PREDICTED) beside a run of `replay` (MEASURED).

    \b
    Which comparison it is follows from how the prediction was made:
      latency.kind=recorded  lock-step: hits, preemptions and every step must agree
      latency.kind=fitted    free-running, and the step model alone on the measured schedule

    Exit code 0 pass, 1 fail, 3 inconclusive: the machine was too noisy to tell.

    Example:  cachecast compare predicted measured
    """
    check_force(force, ("--chart FILE", chart))
    if chart is not None:
        check_chart(chart, force)
    found = compare(
        read_run(predicted), read_run(measured), None if again is None else read_run(again)
    )
    if chart is not None:
        write_chart(chart, spec(found))
    code = _CODES[found.verdict]
    with verdict(code):
        if as_json:
            print_json(comparison_json(found))
        else:
            print_comparison(found)
    return code
