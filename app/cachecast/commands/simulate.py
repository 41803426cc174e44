"""`cachecast simulate`: what own servers would do with a log."""

import contextlib
import gc
import shutil
import sys
import tempfile
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

import click

from cachecast.billing import Bill, bills_of
from cachecast.billing_report import bill_json
from cachecast.fleet_file import FilesBeside, load_fleet
from cachecast.fleet_report import fleet_json, row_json
from cachecast.fleet_table import print_fleet
from cachecast.fleet_writer import ServedSink, write_timeline
from cachecast.ledger_writer import write_requests
from cachecast.output import json_line, notes, print_json
from cachecast.progress import Report, progress
from cachecast.results import RunWriter
from cachecast.results.writer import hash_inputs
from cachecast.scenarios import scenarios_of
from cachecast.simulating import simulate
from cachecast_datasets.errors import BadInput
from cachecast_datasets.importing import open_or_import
from cachecast_datasets.trace import Trace
from cachecast_pricing.catalog import load_catalog
from cachecast_sim.fleet.job import Job
from cachecast_sim.fleet.run import FleetRun


@click.command("simulate")
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
    per_request: bool,
    as_json: bool,
) -> None:
    """Serve LOG on servers of your own: hit tokens, TTFT, ITL, evictions, GPU hours, cost.

    The log must know which prompts share what: token blocks, token ids or content blocks.

    Example:  cachecast simulate log.jsonl --fleet fleet.toml --set engine.blocks=4000
    """
    config = load_fleet(fleet_path, overrides)
    run = FleetRun(config, FilesBeside(fleet_path))
    catalog = load_catalog()
    scenarios = scenarios_of(models, catalog) if models else []
    with contextlib.ExitStack() as stack:
        tmp = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="cachecast-")))
        report = stack.enter_context(progress())
        trace = open_or_import(list(logs), skip_bad=skip_bad, tmp_dir=tmp, progress=report)
        for warning in trace.warnings:
            notes.print(f"note: {warning}", markup=False)
        writer = stack.enter_context(RunWriter(out, force)) if out is not None else None
        lines = stack.enter_context(TemporaryFile("w+", encoding="utf-8"))
        sink = None if writer is None else ServedSink(writer, fleet_path.stem)
        sinks = [] if sink is None else [sink]
        if per_request:  # printed once all is known to be well: no half of an answer
            sinks.append(_line_sink(lines))
        _serve(trace, run, sinks, report)
        bills = bills_of(trace, scenarios, catalog, report=report) if scenarios else []
        if writer is not None and sink is not None:
            sink.flush()
            write_timeline(writer, run)
            write_requests(writer, trace)
            writer.finish(_meta(run, bills, logs))
        lines.seek(0)
        shutil.copyfileobj(lines, sys.stdout)
    if per_request:
        return
    if as_json:
        print_json({**fleet_json(run), "api": [bill_json(bill, []) for bill in bills]})
        return
    print_fleet(run, fleet_path.stem, bills)
    if out is not None:
        notes.print(f'written to {out}; ask it with: cachecast sql {out} "select * from served"')


def _serve(trace: Trace, run: FleetRun, sinks: list[Any], report: Report) -> None:
    """Without the cycle collector: no cycles are made, and looking for them costs a quarter."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        simulate(trace, run, sinks, report)
    finally:
        if was_on:
            gc.enable()
    if not run.totals.requests:
        raise BadInput("no request of the log has a prompt size, expected at least one")


def _line_sink(lines: IO[str]) -> Any:
    def write(job: Job) -> None:
        lines.write(json_line(row_json(job)))

    return write


def _meta(run: FleetRun, bills: list[Bill], logs: tuple[Path, ...]) -> dict[str, Any]:
    return {
        "command": "simulate",
        "input_hash": hash_inputs(logs),
        "fleet": fleet_json(run),
        "scenarios": [bill_json(bill, []) for bill in bills],
        "assumptions": run.assumptions(),
    }
