"""`cachecast import`: any log that a reader knows, into one cachecast Parquet."""

from pathlib import Path

import click
from rich.markup import escape
from rich.table import Table

from cachecast.output import notes, print_json, print_table
from cachecast.progress import progress
from cachecast_datasets.importing import ImportSummary, import_log
from cachecast_datasets.tokenizers import load

EXAMPLE = """
Example:

  cachecast import conversation_trace.jsonl -o log.parquet
"""


@click.command("import", epilog=EXAMPLE)
@click.argument("sources", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "-o", "--out", required=True, type=click.Path(path_type=Path), help="Parquet to write."
)
@click.option("--force", is_flag=True, help="Overwrite the output if it exists.")
@click.option("--skip-bad", is_flag=True, help="Leave out and count bad rows (whole JSON files).")
@click.option(
    "--spread", type=click.FloatRange(min=0, max=1e9), metavar="SECONDS",
    help="Shift each session by its own offset up to this.",
)  # fmt: skip
@click.option("--seed", type=int, default=0, show_default=True, help="Fixes what --spread draws.")
@click.option(
    "--keep-text", is_flag=True, help="Keep prompt texts, where there are any, in OUT.text.parquet."
)
@click.option(
    "--tokenizer", type=click.Path(path_type=Path), metavar="FILE",
    help="Local tokenizer.json or .tiktoken file that splits prompts; default: by bytes.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")
def command(
    sources: tuple[Path, ...],
    out: Path,
    force: bool,
    skip_bad: bool,
    spread: float | None,
    seed: int,
    keep_text: bool,
    tokenizer: Path | None,
    as_json: bool,
) -> None:
    """Read request logs and write one cachecast Parquet, sorted by arrival.

    SOURCES are files or folders: request and response pairs, batch files and HAR captures of
    Anthropic and OpenAI; sketch, Mooncake or token-id JSONL, kv-cache-tester JSON, cachecast
    Parquet; gz and zst are read directly. The format is found by content. Several are merged.
    """
    with progress() as report:
        summary = import_log(
            sources,
            out,
            skip_bad=skip_bad,
            spread_s=spread,
            seed=seed,
            keep_text=keep_text,
            tokenizer=None if tokenizer is None else load(tokenizer),
            force=force,
            progress=report,
        )
    for warning in summary.warnings:
        notes.print(f"note: {escape(warning)}")
    if as_json:
        print_json(as_contract(summary))
    else:
        print_table(as_table(summary))


def as_contract(summary: ImportSummary) -> dict[str, object]:
    """The summary with the keys that scripts depend on (design section 10), and a few more."""
    return {
        "rows": summary.rows,
        "skipped": [
            {"reason": skip.reason, "count": skip.count, "example": skip.example}
            for skip in summary.skipped
        ],
        "evidence": summary.evidence,
        "sessions": summary.sessions,
        "models": summary.models,
        "period": None if summary.period is None else list(summary.period),
        "out": str(summary.out),
        "source_format": summary.source_format,
        "warnings": summary.warnings,
    }


def as_table(summary: ImportSummary) -> Table:
    """The summary for people."""
    table = Table(show_header=False)
    table.add_row("requests", f"{summary.rows:,}")
    table.add_row("format", summary.source_format)
    table.add_row("evidence", summary.evidence)
    table.add_row("sessions", f"{summary.sessions:,}")
    table.add_row("models", escape(", ".join(summary.models)) or "not stated")
    table.add_row("period", _period(summary.period))
    for skip in summary.skipped:
        table.add_row("skipped", escape(f"{skip.count:,} × {skip.reason}, e.g. {skip.example}"))
    table.add_row("written to", escape(str(summary.out)))
    return table


def _period(period: tuple[str, str] | tuple[float, float] | None) -> str:
    if period is None:
        return "–"
    first, last = period
    if isinstance(first, str):
        return f"{first} to {last}"
    return f"{first:,.1f} s to {last:,.1f} s after the log's zero"
