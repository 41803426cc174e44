"""`cachecast demo`: the main job on the small log that cachecast ships."""

import tempfile
from importlib.resources import as_file, files
from pathlib import Path

import click

from cachecast.bill_table import print_bills
from cachecast.billing import bills_of
from cachecast.billing_report import bill_json
from cachecast.output import notes, print_json
from cachecast.scenarios import scenarios_of
from cachecast_datasets.importing import open_or_import
from cachecast_pricing.catalog import load_catalog

LOG = "demo.jsonl.zst"
MODELS = ("claude-opus-5", "claude-opus-5,ttl=1h", "gpt-6-sol", "deepseek-flash")
# The log is what `cachecast generate` makes of this; `make docs` writes it anew.
DRAW = (
    "coding-agent --seed 5 --requests 60 --sessions 6 --burst 2 --rate 8 --turns 3 --steps 3 "
    "--tools 8 --tool-tokens 300 --system-tokens 4000 --compact 3000 "
    "--title-model claude-haiku-4.5 --clock-in-system --shuffle-tools --pause 900 --edit-system "
    "--add-tool"
)


@click.command("demo", short_help="The bill of a small log that comes with cachecast.")
@click.option("--json", "as_json", is_flag=True, help="The same as `bill --json`.")
def command(as_json: bool) -> None:
    """Bill the built-in log of a coding team under four scenarios.

    The log is synthetic: six sessions of a coding agent, two starting at a time, each asking a
    small model for a title and summing up its history when it grows long. One session has a clock
    in its system prompt, one sends its tools in any order, one went to lunch, one edits its
    system prompt and one adds a tool: see what that did to the bill. Nothing is written and nothing
    leaves the machine.

    Example:  cachecast demo --json
    """
    catalog = load_catalog()
    with (
        as_file(files("cachecast") / LOG) as log,
        tempfile.TemporaryDirectory(prefix="cachecast-") as tmp,
    ):
        trace = open_or_import([log], tmp_dir=Path(tmp))
        bills = bills_of(trace, scenarios_of(MODELS, catalog), catalog)
    if as_json:
        print_json({"scenarios": [bill_json(bill, []) for bill in bills]})
        return
    for warning in trace.warnings:
        notes.print(f"note: {warning}", markup=False)
    print_bills(bills, [])
    chosen = " ".join(f"--as {model}" for model in MODELS)
    notes.print(f"\nThe same for your own log:  cachecast bill LOG {chosen}")
    notes.print(f"This log is a draw of:  cachecast generate {DRAW} -o LOG")
