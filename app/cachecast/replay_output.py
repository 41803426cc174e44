"""What is to come out of a replay, whichever engine runs it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cachecast.chart_file import check_chart, write_chart
from cachecast.output import notes
from cachecast.saving_chart import Point, spec
from cachecast.vain_options import check_force
from cachecast_datasets.importing import Progress, open_or_import
from cachecast_datasets.trace import Trace


def open_log(logs: Sequence[Path], tmp: Path, report: Progress) -> Trace:
    """The log, and what reading it made of it is said."""
    trace = open_or_import(list(logs), tmp_dir=tmp, progress=report)
    for warning in trace.warnings:
        notes.print(f"note: {warning}", markup=False)
    return trace


@dataclass(frozen=True, slots=True)
class ReplayOutput:
    """As the options say: a run, a chart, and rows or JSON in place of the table."""

    out: Path | None
    force: bool
    chart: Path | None
    per_request: bool
    as_json: bool

    def check(self) -> None:
        """BadInput, before any work, for what could not be written in the end."""
        check_force(self.force, ("-o RUN", self.out), ("--chart FILE", self.chart))
        if self.chart is not None:
            check_chart(self.chart, self.force)

    def draw(self, points: Sequence[Point], title: str) -> None:
        """The chart, where one was asked for and there is something to see."""
        if self.chart is None:
            return
        if not points:
            notes.print(f"no hit tokens are known: {self.chart} is not written", markup=False)
            return
        write_chart(self.chart, spec(points, title))

    def say_done(self, requests: int, partial: bool) -> None:
        """Where the run is, and that it is not whole."""
        if partial:
            notes.print(f"interrupted after {requests:,} requests; what was measured is kept")
        if self.out is not None:
            notes.print(
                f"written to {self.out}; compare it with: cachecast compare PREDICTED {self.out}",
                markup=False,
            )
