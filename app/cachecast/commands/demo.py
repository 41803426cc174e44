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

MODELS = ("claude-opus-5", "claude-opus-5,ttl=1h", "gpt-6-sol", "deepseek-flash")


@click.command("demo")
@click.option("--json", "as_json", is_flag=True, help="The same as `bill --json`.")
def command(as_json: bool) -> None:
    """Bill the built-in log of a coding team under four scenarios.

    The log has 40 requests of three sessions and four sub-agents. One session has a clock in its
    system prompt, one changes the order of its tools, and two people went to lunch: see what that
    did to the bill. Nothing is written and nothing leaves the machine.

    Example:  cachecast demo --json
    """
    catalog = load_catalog()
    with (
        as_file(files("cachecast") / "demo.jsonl") as log,
        tempfile.TemporaryDirectory(prefix="cachecast-") as tmp,
    ):
        trace = open_or_import([log], tmp_dir=Path(tmp))
        bills = bills_of(trace, scenarios_of(MODELS, catalog), catalog)
    if as_json:
        print_json({"scenarios": [bill_json(bill, []) for bill in bills]})
        return
    print_bills(bills, [])
    chosen = " ".join(f"--as {model}" for model in MODELS)
    notes.print(f"\nThe same for your own log:  cachecast bill LOG {chosen}", soft_wrap=True)
