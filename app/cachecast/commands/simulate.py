"""`cachecast simulate`: what own servers would do with a log."""

import contextlib
import shutil
import sys
import tempfile
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING

import click

from cachecast.fleet_file import FilesBeside, check_fleet, load_fleet
from cachecast.fleet_report import break_even_json, fleet_json, row_json
from cachecast.naming_logs import naming
from cachecast.output import json_line, notes, print_json
from cachecast.progress import Report, progress
from cachecast.simulating import Sink, Took, check_served, serve
from cachecast.vain_options import check_force
from cachecast_datasets.errors import BadInput
from cachecast_datasets.streaming import OutOfOrder, stream
from cachecast_sim.fleet.job import Job
from cachecast_sim.fleet.run import FleetRun

if TYPE_CHECKING:  # loaded where they are needed: Parquet and DuckDB take longer than a small log
    from cachecast.billing import Bill


@click.command("simulate", short_help="Serve a log on servers of your own.")
@click.argument("logs", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="LOG...")
@click.option(
    "--fleet", "fleet_path", required=True, type=click.Path(path_type=Path), metavar="FILE",
    help="The servers, as TOML (docs/fleets.md).",
)  # fmt: skip
@click.option(
    "--set", "overrides", multiple=True, metavar="TABLE.FIELD=VALUE",
    help="Change one field of the fleet file; repeat it.",
)  # fmt: skip
@click.option(
    "--as", "models", multiple=True, metavar="MODEL[,key=value]",
    help="What the same log costs at an API, beside it (as in `bill`).",
)  # fmt: skip
@click.option("--skip-bad", is_flag=True, help="Leave out bad rows and count them.")
@click.option("-o", "--out", type=click.Path(path_type=Path), metavar="RUN", help="Keep the run.")
@click.option("--force", is_flag=True, help="Replace an existing run.")
@click.option("--steps", is_flag=True, help="With -o: keep every step too.")
@click.option("--per-request", is_flag=True, help="One line per request.")
@click.option("--json", "as_json", is_flag=True, help="The machine-readable contract.")
def command(
    logs: tuple[Path, ...],
    fleet_path: Path,
    overrides: tuple[str, ...],
    models: tuple[str, ...],
    skip_bad: bool,
    out: Path | None,
    force: bool,
    steps: bool,
    per_request: bool,
    as_json: bool,
) -> None:
    """Serve LOG on servers of your own: hit tokens, TTFT, ITL, evictions, GPU hours, cost.

    The log must know which prompts share what: token blocks, token ids or content blocks.

    Example:  cachecast simulate log.jsonl --fleet fleet.toml --set engine.blocks=4000
    """
    check_force(force, ("-o RUN", out))
    if out is None:
        _check_without_run(steps, bool(models) and per_request)
    files = FilesBeside(fleet_path)
    config = load_fleet(fleet_path, overrides)
    check_fleet(fleet_path, config, files)  # what is wrong with it is said before the log is read
    with contextlib.ExitStack() as stack:
        tmp = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="cachecast-")))
        report = stack.enter_context(progress())
        stack.enter_context(naming(logs))
        lines = stack.enter_context(TemporaryFile("w+", encoding="utf-8"))
        # printed once all is known to be well: no half of an answer
        sinks: list[Sink] = [_line_sink(lines)] if per_request else []
        took = Took()
        run = None
        if out is None and not models and not skip_bad and len(logs) == 1:
            run = _streamed(logs[0], FleetRun(config, files), sinks, took, report)
        bills: list[Bill] = []
        if run is None:
            lines.seek(0)
            lines.truncate()
            from cachecast.simulating_logs import serve_log

            run, bills = serve_log(
                logs, lambda on_step: FleetRun(config, files, on_step), sinks, fleet_path,
                steps=steps or config.latency.get("kind") == "recorded", models=models,
                skip_bad=skip_bad, out=out, force=force, took=took, tmp=tmp, report=report,
            )  # fmt: skip
        lines.seek(0)
        shutil.copyfileobj(lines, sys.stdout)
    said = f"{run.totals.requests:,} requests {took}"
    if per_request:
        notes.print(said)
        return
    if as_json:
        api = []
        if bills:
            from cachecast.billing_report import bill_json

            api = [bill_json(bill, []) for bill in bills]
        fleet = fleet_json(run)
        even = [break_even_json(fleet, bill) for bill in api]
        print_json({**fleet, "api": api, "break_even": even})
        return
    from cachecast.fleet_table import print_fleet

    print_fleet(run, fleet_path.stem, bills)
    notes.print(said)
    if out is not None:
        notes.print(f'written to {out}; ask it with: cachecast sql {out} "select * from served"')


def _check_without_run(steps: bool, unseen_bill: bool) -> None:
    """BadInput for what was asked but would go nowhere."""
    if steps:
        raise BadInput("--steps: expected -o RUN too, whose table they are")
    if unseen_bill:
        raise BadInput(
            "--as: --per-request does not show the bill, expected one of them or -o RUN too"
        )


def _streamed(
    log: Path, run: FleetRun, sinks: list[Sink], took: Took, report: Report
) -> FleetRun | None:
    """The run over a log that needs no import; None if it does need one."""
    requests = stream(log, report)
    if requests is None:
        return None
    try:
        serve(requests, run, sinks, took)
    except OutOfOrder:
        return None
    check_served(run)
    return run


def _line_sink(lines: IO[str]) -> Sink:
    def write(job: Job) -> None:
        lines.write(json_line(row_json(job)))

    return write
