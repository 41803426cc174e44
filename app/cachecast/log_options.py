"""What `why`, `whatif` and `optimize` share: options, prices, one scenario, the opened log."""

import contextlib
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from cachecast.naming_logs import naming
from cachecast.output import notes
from cachecast.progress import Report, progress
from cachecast.scenarios import scenario_of
from cachecast_datasets.errors import BadInput
from cachecast_datasets.importing import open_or_import
from cachecast_datasets.trace import Trace
from cachecast_pricing.catalog import Catalog, load_catalog
from cachecast_sim.scenario import Scenario

_AS = "Rules and prices, as in `bill`; `log`, the default: each request's own model."
_OPTIONS = (
    click.argument("logs", nargs=-1, required=True, type=click.Path(path_type=Path),
                   metavar="LOG..."),
    click.option("--as", "models", multiple=True, metavar="MODEL[,key=value]", help=_AS),
    click.option("--rates", type=click.Path(path_type=Path), help="Negotiated prices (TOML)."),
    click.option("--skip-bad", is_flag=True, help="Leave out bad rows and count them."),
    click.option("--json", "as_json", is_flag=True, help="The machine-readable contract."),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Asked:
    """Of which logs something is asked, and under whose rules and prices."""

    logs: tuple[Path, ...]
    models: tuple[str, ...]
    rates: Path | None
    skip_bad: bool

    def command_line(self) -> list[str]:
        """The same as arguments of another command."""
        found = [str(log) for log in self.logs]
        for model in self.models:
            found += ["--as", model]
        if self.rates is not None:
            found += ["--rates", str(self.rates)]
        return [*found, "--skip-bad"] if self.skip_bad else found


@dataclass(frozen=True, slots=True)
class Opened:
    """The log, the scenario, and a function to report progress with."""

    trace: Trace
    scenario: Scenario
    catalog: Catalog
    report: Report


def log_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """LOG..., --as, --rates, --skip-bad and --json."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@contextlib.contextmanager
def opened(asked: Asked, name: str, *, keep_text: bool = False) -> Iterator[Opened]:
    """The log of a command that takes one scenario; notes on stderr. Temporary files go with it.

    BadInput for a second `--as`: the last one would win unseen.
    """
    catalog = load_catalog(asked.rates)
    for remark in catalog.notes:
        notes.print(f"note: {remark}", markup=False)
    if len(asked.models) > 1:
        raise BadInput(f"--as {asked.models[1]}: {name} takes one --as a run")
    scenario = scenario_of(asked.models[0] if asked.models else "log", catalog)
    with (
        tempfile.TemporaryDirectory(prefix="cachecast-") as tmp,
        progress() as report,
        naming(asked.logs),
    ):
        trace = open_or_import(
            list(asked.logs), skip_bad=asked.skip_bad, tmp_dir=Path(tmp), progress=report,
            keep_text=keep_text,
        )  # fmt: skip
        for warning in trace.warnings:
            if not (keep_text and "--keep-text" in warning):  # nobody asked for it here
                notes.print(f"note: {warning}", markup=False)
        yield Opened(trace, scenario, catalog, report)
