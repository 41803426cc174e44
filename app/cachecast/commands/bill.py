"""`cachecast bill`: what a log costs under one or more providers' cache rules and prices."""

import contextlib
import shutil
import sys
import tempfile
from functools import partial
from pathlib import Path
from shlex import quote
from tempfile import TemporaryFile
from typing import IO, Any

import click

from cachecast.bill_table import print_bills
from cachecast.billing import Bill, RowSink, bills_of, matching_rows
from cachecast.billing_report import bill_json, row_json
from cachecast.ledger_writer import LedgerSink, write_requests
from cachecast.naming_logs import naming
from cachecast.output import json_line, notes, print_json
from cachecast.progress import progress
from cachecast.results import RunWriter
from cachecast.results.writer import hash_inputs
from cachecast.scenarios import scenarios_of
from cachecast.vain_options import check_force
from cachecast_datasets.errors import BadInput
from cachecast_datasets.importing import open_or_import
from cachecast_datasets.processes import reading_processes
from cachecast_datasets.trace import Trace
from cachecast_pricing.catalog import load_catalog
from cachecast_sim.grouping import keys_of
from cachecast_sim.ledger import LedgerRow


@click.command("bill", short_help="What a log costs, and why its requests missed.")
@click.argument("logs", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="LOG...")
@click.option(
    "--as", "models", multiple=True, metavar="MODEL[,key=value]",
    help="Rules and prices to replay under; repeat it to compare. `log`: each request under its "
    "own model (the default).",
)  # fmt: skip
@click.option("--where", metavar="SQL", help="Count only these rows; the cache still sees all.")
@click.option("--by", default="", metavar="COLUMN,...", help="Break each bill down.")
@click.option("--rates", type=click.Path(path_type=Path), help="Negotiated prices (TOML).")
@click.option("--skip-bad", is_flag=True, help="Leave out bad rows and count them.")
@click.option("-o", "--out", type=click.Path(path_type=Path), metavar="RUN", help="Keep the run.")
@click.option("--force", is_flag=True, help="Replace an existing run.")
@click.option("--per-request", is_flag=True, help="One line per request and scenario.")
@click.option("--json", "as_json", is_flag=True, help="The machine-readable contract.")
def command(
    logs: tuple[Path, ...],
    models: tuple[str, ...],
    where: str | None,
    by: str,
    rates: Path | None,
    skip_bad: bool,
    out: Path | None,
    force: bool,
    per_request: bool,
    as_json: bool,
) -> None:
    """Replay LOG through prompt caches and print the bills side by side.

    \b
    Keys of --as (docs/scenarios.md says what each means):
      mark=log|auto|last|system+last|none|translate   where caching is asked for
      ttl=5m|1h|30m|12h, grace=S, upgrade=on|off      how long entries live
      on=DATE, tier=TIER, regional=on|off, currency=CODE, name=TEXT      prices, and the name
      first_token=S, lookback=N, group_tools=on|off, tool_choice=on|off
      lookup=2+50|50|80, hidden=N, tail=N, overflow=off|N                (OpenAI)
      interval=off|N, unit=off|N, output_units=on|off, build_delay=S     (DeepSeek)

    LOG: everything that `cachecast import --help` lists, such as ~/.claude/projects, ~/.codex, a
    HAR capture or a Langfuse export. docs/reasons.md explains the reasons.

    \b
    Example:
      cachecast bill log.jsonl --as claude-opus-5 --as claude-opus-5,ttl=1h \\
        --as gpt-6-sol
    """
    check_force(force, ("-o RUN", out))
    if out is not None:
        _check_place(out, logs)
    catalog = load_catalog(rates)
    for remark in catalog.notes:
        notes.print(f"note: {remark}", markup=False)
    scenarios = scenarios_of(models, catalog)
    keys = keys_of(by)
    with contextlib.ExitStack() as stack:
        tmp = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="cachecast-")))
        report = stack.enter_context(progress())
        stack.enter_context(naming(logs))
        trace = open_or_import(
            list(logs),
            skip_bad=skip_bad,
            tmp_dir=tmp,
            progress=report,
            processes=reading_processes(),
        )
        _say(trace)
        sinks: list[RowSink] = []
        run = stack.enter_context(RunWriter(out, force)) if out is not None else None
        ledger = None if run is None else LedgerSink(run)
        if ledger is not None:
            sinks.append(ledger)
        lines = stack.enter_context(TemporaryFile("w+", encoding="utf-8"))
        if per_request:  # printed once all is known to be well: no half of an answer
            sinks.append(partial(_write_line, lines))
        counted = None if where is None else matching_rows(trace, where)
        bills = bills_of(
            trace, scenarios, catalog, by=keys, where=where, counted=counted, sinks=sinks,
            report=report,
        )  # fmt: skip
        if run is not None and ledger is not None:
            ledger.flush()
            write_requests(run, trace, counted)
            run.finish(_run_meta(bills, [name for name, _ in keys], logs))
        lines.seek(0)
        shutil.copyfileobj(lines, sys.stdout)
    _hint(bills, bool(by) and per_request)
    if per_request:
        return
    if as_json:
        print_json({"scenarios": [bill_json(bill, [name for name, _ in keys]) for bill in bills]})
        return
    print_bills(bills, [name for name, _ in keys])
    if out is not None:
        asked = f'cachecast sql {quote(str(out))} "select * from by_reason order by cost desc"'
        notes.print(f"written to {out}; ask it with:  {asked}", markup=False)


def _check_place(out: Path, logs: tuple[Path, ...]) -> None:
    """A run never takes the place of a log, nor of a folder that holds one."""
    place = out.resolve()
    for log in logs:
        if place == log.resolve() or place in log.resolve().parents:
            raise BadInput(f"-o {out}: the log {log} lies there; give the run another folder")


def _write_line(lines: IO[str], name: str, row: LedgerRow) -> None:
    lines.write(json_line(row_json(name, row)))


def _run_meta(bills: list[Bill], by: list[str], logs: tuple[Path, ...]) -> dict[str, Any]:
    return {
        "command": "bill",
        "input_hash": hash_inputs(logs),
        "scenarios": [bill_json(bill, by) for bill in bills],
        "assumptions": list(dict.fromkeys(a for bill in bills for a in bill.assumptions)),
    }


def _hint(bills: list[Bill], by_is_lost: bool) -> None:
    if any(bill.scenario.model is None and not bill.totals.priced for bill in bills):
        notes.print(
            "note: no request of this log names a model that has a price; "
            "name one with --as MODEL (cachecast models lists them)"
        )
    if by_is_lost:
        notes.print("note: --per-request prints requests, so --by has no effect")


def _say(trace: Trace) -> None:
    """What a person should know of the log before they read its bill."""
    for warning in trace.warnings:
        notes.print(f"note: {warning}", markup=False)
    for skip in trace.imported.skipped if trace.imported is not None else ():
        notes.print(f"note: skipped {skip.count:,}: {skip.reason} ({skip.example})", markup=False)
