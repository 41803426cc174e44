"""`simulate` over a log that is imported first: with a run to keep, or the API's bill beside it."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from cachecast.billing import Bill, bills_of
from cachecast.billing_report import bill_json
from cachecast.fleet_file import FilesBeside, clock_of
from cachecast.fleet_report import fleet_json
from cachecast.fleet_writer import ServedSink, write_timeline
from cachecast.ledger_writer import write_requests
from cachecast.output import notes
from cachecast.progress import Report
from cachecast.results import RunWriter
from cachecast.results.writer import hash_inputs
from cachecast.scenarios import scenarios_of
from cachecast.simulating import Sink, Took, check_served, serve
from cachecast.step_writer import StepSink
from cachecast_datasets.importing import open_or_import
from cachecast_datasets.prefix_blocks import shares_unknown
from cachecast_datasets.request import Request
from cachecast_datasets.trace import Trace
from cachecast_pricing.catalog import load_catalog
from cachecast_sim.fleet.run import FleetRun
from cachecast_sim.latency.logged import OnStep

REPORT_EVERY = 2_048  # requests between two progress reports

# what a fleet needs of a request
COLUMNS = (
    "session_id", "agent_id", "hash_scope", "token_block_size", "token_blocks", "token_ids",
    "output_token_ids", "boundaries", "prompt_tokens", "output_tokens", "think_time_s", "end_s",
)  # fmt: skip


def serve_log(
    logs: Sequence[Path],
    make_run: Callable[[OnStep | None], FleetRun],
    sinks: Sequence[Sink],
    fleet: Path,
    *,
    steps: bool,
    models: Sequence[str],
    skip_bad: bool,
    out: Path | None,
    force: bool,
    took: Took,
    tmp: Path,
    report: Report,
) -> tuple[FleetRun, list[Bill]]:
    """Serve the logs, write the run to `out`, with its `steps` if asked; and the bills of `models`
    for the same log."""
    catalog = load_catalog()
    scenarios = scenarios_of(models, catalog) if models else []
    with contextlib.ExitStack() as stack:
        trace = open_or_import(list(logs), skip_bad=skip_bad, tmp_dir=tmp, progress=report)
        for warning in trace.warnings:
            notes.print(f"note: {warning}", markup=False)
        if trace.rows and trace.meta.evidence == "counts":
            raise shares_unknown(trace, ", ".join(map(str, logs)))
        writer = None if out is None else stack.enter_context(RunWriter(out, force))
        kept = None if writer is None else ServedSink(writer, fleet.stem)
        step_sink = StepSink(writer) if writer is not None and steps else None
        run = make_run(None if step_sink is None else step_sink.of_model)
        serve(requests_of(trace, report), run, [*sinks, *([] if kept is None else [kept])], took)
        check_served(run)
        bills = bills_of(trace, scenarios, catalog, report=report) if scenarios else []
        if writer is not None and kept is not None:
            kept.flush()
            if step_sink is not None:
                step_sink.flush()
            write_timeline(writer, run)
            write_requests(writer, trace)
            writer.finish(_meta(run, bills, logs, fleet))
    return run, bills


def requests_of(trace: Trace, report: Report) -> Iterator[Request]:
    """What a fleet needs of a log's requests, with a progress report now and then."""
    total = trace.rows
    for done, request in enumerate(trace.requests(columns=_columns(trace))):
        if done % REPORT_EVERY == 0:
            report("simulating", done, total)
        yield request
    report("simulating", total, total)


def _columns(trace: Trace) -> list[str]:
    """Boundaries only where nothing finer is known: they are the larger part of a log."""
    finer = trace.meta.evidence in ("tokens", "token_blocks")
    return [name for name in COLUMNS if not (finer and name == "boundaries")]


def _meta(run: FleetRun, bills: list[Bill], logs: Sequence[Path], fleet: Path) -> dict[str, Any]:
    latency = run.config.latency
    return {
        "command": "simulate",
        "input_hash": hash_inputs(logs),
        "latency": dict(latency),
        "latency_folder": str(fleet.resolve().parent),  # what its file is relative to
        "normalised": clock_of(latency, FilesBeside(fleet)),
        "fleet": fleet_json(run),
        "scenarios": [bill_json(bill, []) for bill in bills],
        "assumptions": run.assumptions(),
    }
