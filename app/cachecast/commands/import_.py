"""`cachecast import`: any log that a reader knows, into one cachecast Parquet."""

import math
import textwrap
from pathlib import Path
from shlex import quote

import click
from rich.markup import escape
from rich.table import Table

from cachecast.output import notes, print_json, print_table
from cachecast.progress import progress
from cachecast_datasets.anonymising import Anonymiser
from cachecast_datasets.errors import BadInput
from cachecast_datasets.importing import ImportSummary, import_log
from cachecast_datasets.processes import reading_processes
from cachecast_datasets.small_file import read_small
from cachecast_datasets.sources import READERS
from cachecast_datasets.tokenizers import load


def _finite(context: click.Context, option: click.Parameter, value: float | None) -> float | None:
    """A range lets NaN through: it is neither below nor above a bound."""
    if value is not None and math.isnan(value):
        raise click.BadParameter(
            "nan is not a number of seconds, expected 0 to 1e9.", context, option
        )
    return value


EXAMPLE = """
Example:

  cachecast import conversation_trace.jsonl -o log.parquet
"""
_COLUMN, _WIDTH = 24, 76  # of the names of formats, of a line of help


def _formats() -> str:
    """Every format with what it is, as a paragraph that click leaves as it is."""
    lines = ["Formats (docs/log-formats.md says what each carries):"]
    for name, reader in READERS.items():
        first, *others = textwrap.wrap(reader.description, _WIDTH - _COLUMN)
        lines.append(f"{name:<{_COLUMN}}{first}")
        lines += [" " * _COLUMN + line for line in others]
    return "\b\n" + "\n".join(lines)


_KEPT = (
    "anonymised: salted hashes of ids and contents, times from the first arrival; token counts, "
    "durations and the names of models and settings stay as they are"
)


@click.command(
    "import", epilog=f"{EXAMPLE}\n{_formats()}", short_help="Read logs into one Parquet file."
)
@click.argument("sources", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "-o", "--out", required=True, type=click.Path(path_type=Path),
    help="Parquet to write; with --anonymise and a name in .jsonl, the Mooncake shape.",
)  # fmt: skip
@click.option("--force", is_flag=True, help="Overwrite the output if it exists.")
@click.option("--skip-bad", is_flag=True, help="Leave out and count bad rows (whole JSON files).")
@click.option(
    "--spread", type=click.FloatRange(min=0, max=1e9), metavar="SECONDS", callback=_finite,
    help="Shift each session by its own offset up to this.",
)  # fmt: skip
@click.option("--seed", type=int, default=0, show_default=True, help="Fixes what --spread draws.")
@click.option(
    "--keep-text", is_flag=True, help="Keep prompt texts, where there are any, in OUT.text.parquet."
)
@click.option("--anonymise", is_flag=True, help="Write salted hashes only, no word of text.")
@click.option(
    "--salt", type=click.Path(path_type=Path), metavar="FILE",
    help="The secret of --anonymise: the same log and salt give the same ids.",
)  # fmt: skip
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
    anonymise: bool,
    salt: Path | None,
    tokenizer: Path | None,
    as_json: bool,
) -> None:
    """Read request logs and write one cachecast Parquet, sorted by arrival.

    SOURCES are files or folders of the formats below, plain or as gz or zst. The format is found
    by content, never by name. Several are merged.
    """
    anonymiser = _anonymiser(anonymise, salt, keep_text)
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
            anonymise=anonymiser,
            progress=report,
            processes=reading_processes(),
        )
    for warning in (*summary.warnings, *((_KEPT,) if anonymise else ())):
        notes.print(f"note: {escape(warning)}")
    if as_json:
        print_json(as_contract(summary))
    else:
        print_table(as_table(summary))
        notes.print(
            f"what it costs:  cachecast bill {quote(str(out))} {_scenario(summary)}", markup=False
        )


def _scenario(summary: ImportSummary) -> str:
    """`log`, where what was written names models; the Mooncake shape does not."""
    names_models = bool(summary.models) and summary.out.suffix != ".jsonl"
    return "--as log" if names_models else "--as MODEL"


def _anonymiser(anonymise: bool, salt: Path | None, keep_text: bool) -> Anonymiser | None:
    if not anonymise:
        if salt is not None:
            raise BadInput("--salt is the secret of --anonymise, expected both or none")
        return None
    if keep_text:
        raise BadInput("--anonymise leaves no text and --keep-text keeps it, expected one of both")
    if salt is None:
        raise BadInput(f"--anonymise needs --salt FILE; {make_salt('salt.txt')}")
    try:
        return Anonymiser(read_small(salt))
    except OSError as problem:
        why = problem.strerror or str(problem)
        raise BadInput(f"--salt {salt}: {why}; {make_salt(str(salt))}") from problem
    except BadInput as problem:
        raise BadInput(f"--salt {salt}: {problem}; {make_salt(str(salt))}") from None


def make_salt(path: str) -> str:
    """How to make a salt file, for messages."""
    return f"make one with: python3 -c 'import secrets; print(secrets.token_hex(32))' > {path}"


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
    table = Table(show_header=False, box=None)
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
