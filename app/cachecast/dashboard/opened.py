"""What is open in the dashboard: a request log, or a run that a command wrote with `-o`."""

import os
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cachecast.dashboard.catalogue import OWN_MODELS, catalogue
from cachecast.dashboard.folder import Folder
from cachecast.progress import Report
from cachecast_datasets.errors import BadInput

if TYPE_CHECKING:  # reading is imported where something is read: the server starts without it
    from cachecast_datasets.trace import Trace

EXAMPLE = "demo.jsonl.zst"  # the log of `cachecast demo`
EXAMPLE_NAME = "the built-in example"
_KEY_DIGITS = 16
_EPOCH_YEAR = 1970


@dataclass(frozen=True, slots=True)
class Opened:
    """A log (`log` is its cachecast Parquet) or a run (`run` is its folder, `log` None).

    `key` is the hash of the input, `source` what the person named, `label` its name on screen.
    `facts` are those of `import --json`, besides `source_format`, `time_origin` and `warnings`;
    for a run they are its `run.json` and whether its times have a calendar.
    """

    key: str
    label: str
    source: Path
    log: Path | None
    run: Path | None
    facts: dict[str, Any]

    @property
    def relative(self) -> bool:
        """Whether times count from the log's own zero."""
        return bool(self.facts.get("time_origin", "relative") == "relative")

    def trace(self) -> "Trace":
        """The log, opened. BadInput for a run, which holds no prompts."""
        if self.log is None:
            raise BadInput(f"{self.label} is a run, expected a request log: open the log itself")
        return _trace(self.log, self.key)


def example_path() -> Path:
    """The log that cachecast ships, as a file."""
    with as_file(files("cachecast") / EXAMPLE) as path:
        return path


def check(source: Path | None, scenario: str) -> None:
    """BadInput unless it is a run or a log of some format, and the model is known."""
    if scenario != OWN_MODELS:
        from cachecast.scenarios import scenario_of

        scenario_of(scenario, catalogue())
    if source is None:
        return
    if os.path.isfile(source / "run.json"):  # unlike Path's, false for a name that is too long
        from cachecast.results.reader import read_info

        read_info(source)
    else:
        from cachecast_datasets.sources import sniff

        sniff(source)


def label_of(path: Path) -> str:
    """What a log that the command line named is called on screen."""
    return path.name or str(path)


def open_input(path: Path, label: str, folder: Folder, report: Report) -> dict[str, Any]:
    """What `opened` needs, as JSON: a run as it is, a Parquet as it is, else an import of it."""
    from cachecast.dashboard.fingerprint import fingerprint
    from cachecast.results.reader import read_info
    from cachecast.results.writer import hash_inputs
    from cachecast_datasets.sources import sniff
    from cachecast_datasets.trace import open_trace

    if os.path.isfile(path / "run.json"):
        info = read_info(path)
        key = hash_inputs([path / "run.json"]).removeprefix("sha256:")[:_KEY_DIGITS]
        facts = {"time_origin": _origin_of(path)} | info
        return {"key": key, "label": label, "source": str(path), "run": str(path), "facts": facts}
    reader = sniff(path)  # BadInput here costs nothing
    digest = hash_inputs([path], lambda: report("hashing", 0, 0))  # a folder may be a whole disk
    key = digest.removeprefix("sha256:")[:_KEY_DIGITS]
    found = {"key": key, "label": label, "source": str(path)}
    name = f"{key}-{fingerprint()}"
    kept = folder.kept("logs", name)
    if kept is not None and Path(kept["log"]).is_file():
        return kept | found
    if reader.name == "parquet" and (trace := open_trace(path)).ours:
        made = {"log": str(path), "facts": _facts(trace, [])}
    else:
        from cachecast_datasets.importing import import_log
        from cachecast_datasets.processes import reading_processes

        out = folder.part("logs") / f"{name}.parquet"
        done = import_log(
            [path], out, force=True, skip_bad=False, progress=report, processes=reading_processes()
        )
        made = {"log": str(out), "facts": _facts(open_trace(out), done.warnings)}
    folder.keep("logs", name, made)
    return made | found


def opened(found: dict[str, Any]) -> Opened:
    """The answer of `open_input` as a value."""
    return Opened(
        key=found["key"],
        label=found["label"],
        source=Path(found["source"]),
        log=Path(found["log"]) if "log" in found else None,
        run=Path(found["run"]) if "run" in found else None,
        facts=found["facts"],
    )


def _origin_of(run: Path) -> str:
    """Whether the arrivals of a run have a calendar. Relative ones count from 1970, of which no
    request log is; a run without a ledger has none to show."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(run / "ledger.parquet") as ledger:
            first = next(ledger.iter_batches(batch_size=1, columns=["arrival"]))
        return "absolute" if first["arrival"][0].as_py().year > _EPOCH_YEAR else "relative"
    except (OSError, pa.ArrowException, LookupError, StopIteration):
        return "relative"


def _facts(trace: "Trace", warnings: list[str]) -> dict[str, Any]:
    from cachecast_datasets.tallies import Tally

    tally = Tally()
    for batch in trace.batches(("session_id", "model")):
        tally.add_batch(batch)
    return {
        "rows": trace.rows,
        "evidence": trace.meta.evidence,
        "sessions": tally.sessions,
        "models": tally.models,
        "period": tally.period(trace.meta.time_origin),
        "source_format": trace.meta.source_format,
        "time_origin": trace.meta.time_origin,
        "warnings": [*trace.warnings, *warnings],
    }


@lru_cache(maxsize=4)
def _trace(path: Path, key: str) -> "Trace":
    """The log of that content: another may stand in its place some day."""
    from cachecast_datasets.trace import open_trace

    return open_trace(path)
