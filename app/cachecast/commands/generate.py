"""`cachecast generate`: a synthetic log with stated parameters, for people who have none yet."""

from collections.abc import Callable
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from shlex import quote
from typing import Any

import click
from rich.markup import escape
from rich.table import Table

from cachecast.output import notes, print_json, print_table
from cachecast_datasets.synthetic.generating import generate
from cachecast_datasets.synthetic.lines import pair_line, sketch_line
from cachecast_datasets.synthetic.workload import KINDS

# option -> (field of Workload, type, what it is)
PARAMETERS: dict[str, tuple[str, click.ParamType[Any], str]] = {
    "--rate": ("rate_per_hour", click.FloatRange(1e-3, 1e7), "Sessions that start in an hour."),
    "--burst": ("burst", click.IntRange(1, 1000), "Sessions that start at the same moment."),
    "--turns": ("turns", click.IntRange(1, 10_000), "Turns of a person in a session."),
    "--think": ("think_s", click.FloatRange(0, 1e7), "Seconds between two turns."),
    "--steps": ("steps", click.IntRange(1, 1000), "Requests in a turn, the last without tools."),
    "--parallel": ("parallel", click.IntRange(0, 100), "Tool calls in an answer; 0: no tools."),
    "--sharing": ("sharing", click.FloatRange(0, 1), "Sessions with the common prompt start."),
    "--tools": ("tools", click.IntRange(0, 1000), "Tool definitions."),
    "--tool-tokens": ("tool_tokens", click.IntRange(0, 10**6), "Tokens of one of them."),
    "--system-tokens": ("system_tokens", click.IntRange(0, 10**6), "Tokens of the system text."),
    "--document-tokens": ("document_tokens", click.IntRange(0, 10**7), "Tokens of a document."),
    "--ask-tokens": ("ask_tokens", click.IntRange(1, 10**6), "Tokens of a person's message."),
    "--answer-tokens": ("answer_tokens", click.IntRange(1, 10**6), "Tokens of an answer."),
    "--result-tokens": ("result_tokens", click.IntRange(0, 10**6), "Tokens of a tool's result."),
    "--compact": ("compact_tokens", click.IntRange(0, 10**7), "Sum up a longer history; 0 never."),
    "--marker": ("marker", click.Choice(["5m", "1h", "none"]), "Lifetime of the cache markers."),
    "--vary": ("vary", click.FloatRange(0, 1), "Spread around the means; 0 none."),
}
EXAMPLE = """
Example:

  cachecast generate coding-agent -o agent.jsonl.zst --requests 50 --seed 1
"""


def _defaults() -> str:
    """The defaults of every kind, as a paragraph that click leaves as it is."""
    rows = [["defaults", *KINDS]]
    for option, (name, _, _) in PARAMETERS.items():
        rows.append([option, *(_shown(getattr(kind, name)) for kind in KINDS.values())])
    widths = [max(map(len, column)) + 1 for column in zip(*rows, strict=True)]
    lines = [
        first.ljust(widths[0]) + "".join(c.rjust(w) for c, w in zip(cells, widths[1:], strict=True))
        for first, *cells in rows
    ]
    return "\b\n" + "\n".join(lines)


def _shown(value: object) -> str:
    return "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _parameters(command: Callable[..., None]) -> Callable[..., None]:
    for option, (name, kind, text) in reversed(PARAMETERS.items()):
        command = click.option(option, name, type=kind, help=text)(command)
    return command


@click.command(
    "generate",
    epilog=f"{EXAMPLE}\n{_defaults()}",
    short_help="Write a synthetic log, for those who have none.",
)
@click.argument("kind", type=click.Choice(list(KINDS)))
@click.option("-o", "--out", required=True, type=click.Path(path_type=Path),
              help="File to write; compressed if its name ends in .gz or .zst.")  # fmt: skip
@click.option("--requests", type=click.IntRange(0), default=200, show_default=True,
              help="Stop after so many requests, by arrival.")  # fmt: skip
@click.option("--sessions", type=click.IntRange(0), help="And after so many sessions.")
@click.option(
    "--seed", type=int, default=0, show_default=True, help="The same gives the same file."
)
@click.option("--format", "form", type=click.Choice(["pairs", "sketch"]), default="pairs",
              show_default=True,
              help="Requests and responses with text, or names and sizes.")  # fmt: skip
@click.option("--usage", is_flag=True, help="pairs: usage of a provider without a cache.")
@click.option("--model", help="The model that is asked.  [default: claude-opus-5]")
@click.option("--title-model", metavar="MODEL", help="Asked for a title, once a session.")
@_parameters
@click.option("--clock-in-system", is_flag=True, help="Fault: a clock before the system text.")
@click.option("--shuffle-tools", is_flag=True, help="Fault: tools in another order each time.")
@click.option("--pause", "pause_s", type=click.FloatRange(0, 1e7), metavar="S", default=0.0,
              help="Fault: S seconds more in the middle.")  # fmt: skip
@click.option("--edit-system", is_flag=True, help="Fault: another system text from the middle on.")
@click.option("--add-tool", is_flag=True, help="Fault: one more tool from the middle on.")
@click.option("--force", is_flag=True, help="Overwrite the output if it exists.")
@click.option("--json", "as_json", is_flag=True, help="Print what was made as JSON.")
def command(
    kind: str,
    out: Path,
    requests: int,
    sessions: int | None,
    seed: int,
    form: str,
    usage: bool,
    force: bool,
    as_json: bool,
    **given: Any,
) -> None:
    """Write a synthetic request log of a KIND of traffic, with stated parameters and a seed.

    \b
    coding-agent  tools, a system text, turns of several steps with tool results
    chat          a system text and turns
    documents     questions about a document, part of them about the same one
    batch         independent requests that share a system text
    tool-heavy    many tools, several calls at once, large results

    Nothing in it is about anyone. What is left out is the kind's default; --sessions N ends the log
    earlier than --requests. Sessions take turns with the faults that are on: the first has none,
    the second the first of them, and so on. docs/generate.md says more.
    """
    if usage and form == "sketch":
        raise click.UsageError("--usage is for --format pairs; a sketch tells sizes anyway.")
    workload = replace(KINDS[kind], **{k: v for k, v in given.items() if v is not None})
    if workload.marker == "none":
        workload = replace(workload, marker=None)
    line = sketch_line if form == "sketch" else partial(pair_line, usage=usage)
    made = generate(
        workload, out, line, requests=requests, sessions=sessions, seed=seed, force=force
    )
    parameters = {field.name: getattr(workload, field.name) for field in fields(workload)}
    if as_json:
        print_json(
            {"kind": kind, "requests": made[0], "sessions": made[1], "seed": seed, "format": form,
             "out": str(out), "parameters": parameters}
        )  # fmt: skip
        return
    table = Table(show_header=False, box=None)
    table.add_row("requests", f"{made[0]:,}")
    table.add_row("sessions", f"{made[1]:,}")
    table.add_row("written to", escape(str(out)))
    print_table(table)
    notes.print(f"what it costs:  cachecast bill {quote(str(out))} --as log", markup=False)
