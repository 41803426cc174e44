"""A fleet file and its `--set` overrides, read into one frozen configuration."""

import os
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cachecast_datasets.errors import BadInput
from cachecast_datasets.shown import shown
from cachecast_sim.fleet.config import FleetConfig, fleet_config
from cachecast_sim.fleet.run import FleetRun
from cachecast_sim.latency.fitted_file import read_fitted

_LARGEST = 1 << 20  # bytes of a fleet file; more is some other file


def load_fleet(path: Path, overrides: Sequence[str], *, any_latency: bool = False) -> FleetConfig:
    """The fleet of the file with `--set a.b=c` applied. BadInput says what is wrong, and where.

    With `any_latency` the table [latency] may be missing, and what it says is not looked at.
    """
    try:
        data = path.read_bytes()
    except OSError as problem:
        raise BadInput(f"{path}: cannot be read ({problem.strerror})") from None
    try:
        return fleet_of(data, overrides, any_latency=any_latency)
    except BadInput as problem:
        raise BadInput(f"{path}: {problem}") from None


def fleet_of(
    data: bytes, overrides: Sequence[str] = (), *, any_latency: bool = False
) -> FleetConfig:
    """The fleet that a file of these bytes describes. BadInput as above, without the place."""
    if len(data) > _LARGEST:
        raise BadInput(f"has {len(data):,} bytes, expected a fleet file (TOML)")
    try:
        tables = tomllib.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as problem:  # no UTF-8, no TOML, a number of 5,000 digits
        raise BadInput(f"is not TOML: {problem}") from None
    for override in overrides:
        _set(tables, override)
    return fleet_config({**tables, "latency": {}} if any_latency else tables)


def check_fleet(path: Path, config: FleetConfig, files: "FilesBeside") -> None:
    """BadInput for a model, a hardware or a file that does not exist or does not fit."""
    try:
        FleetRun(config, files)
    except BadInput as problem:
        raise BadInput(f"{path}: {problem}") from None


def _set(tables: dict[str, Any], override: str) -> None:
    """One `a.b=value`; a value that is no TOML is a string."""
    name, equals, text = override.partition("=")
    steps = [step.strip() for step in name.split(".")]
    if not equals or not all(steps):
        raise BadInput(f"--set {override}: expected table.field=value, as engine.blocks=300")
    *outer, last = steps
    table: Any = tables
    for step in outer:
        if isinstance(table, list):
            table = _entry(table, step, override)
        elif step == "tiers" and step not in table:
            raise BadInput(f"--set {override}: the fleet file has no [[tiers]], expected one there")
        else:
            table = table.setdefault(step, {})
        if not isinstance(table, dict | list):
            raise BadInput(f"--set {override}: {step} is a value, expected a table")
    if isinstance(table, list):
        raise BadInput(f"--set {override}: expected the number of a table before the field")
    table[last] = _value(text.strip())


def _entry(tables: list[Any], step: str, override: str) -> Any:
    if not step.isdigit() or not 1 <= int(step) <= len(tables):
        raise BadInput(f"--set {override}: expected a number from 1 to {len(tables)}, not {step!r}")
    return tables[int(step) - 1]


def _value(text: str) -> Any:
    try:
        found = tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError):
        return text
    return found["value"] if list(found) == ["value"] else text  # a second line is no value


class FilesBeside:
    """What a fleet file points to; relative paths count from the fleet file's folder, else from
    where the command runs."""

    def __init__(self, fleet: Path) -> None:
        self._folder = fleet.parent

    def text(self, path: str) -> str:
        """The whole file as UTF-8 text. BadInput if it cannot be read."""
        place = self._place(path)
        try:
            return place.read_text("utf-8-sig")
        except OSError as problem:
            raise BadInput(f"{place}: cannot be read ({problem.strerror})") from None
        except UnicodeDecodeError:
            raise BadInput(f"{place}: is not text, expected UTF-8") from None

    def step_durations_ns(self, run: str) -> Sequence[int]:
        """Durations of a replay's steps in order. BadInput if the folder is no such run."""

        place = self._place(run)
        if self.info(run).get("partial"):
            raise BadInput(
                f"{place}: the replay was interrupted, so its steps are not those of the whole "
                "log; expected a whole replay"
            )
        file = place / "steps.parquet"
        if not file.is_file():
            raise BadInput(f"{place}: the run has no table `steps`, expected the run of a replay")
        import pyarrow.parquet as pq  # only a recorded latency needs it

        try:
            table = pq.read_table(file, columns=["step", "duration_ns"]).sort_by("step")
            return [int(duration) for duration in table.column("duration_ns").to_pylist()]
        except (OSError, ValueError, TypeError, KeyError) as problem:
            raise BadInput(f"{file}: is not the steps of a run ({problem})") from None

    def info(self, run: str) -> dict[str, Any]:
        """What the `run.json` of a run says. BadInput if it is none."""
        from cachecast.results.reader import read_info  # DuckDB, which most fleets do not need

        return read_info(self._place(run))

    def _place(self, path: str) -> Path:
        if "\0" in path:
            raise BadInput(f"{shown(path)}: is no path, expected one without a null character")
        beside = self._folder / path
        return beside if os.path.exists(beside) else Path(path)  # of one too long: False, no error


def clock_of(latency: Mapping[str, Any], files: FilesBeside) -> dict[str, Any]:
    """How a latency table's durations were measured, as `clock` (virtual or real, of the replay
    that recorded them) and `normalised` (by a probe). None for what was not measured so.

    BadInput for a file that is none.
    """
    kind, file = latency.get("kind"), latency.get("file")
    found: dict[str, Any] = {}
    if kind == "fitted" and isinstance(file, str):
        found = {"normalised": read_fitted(files.text(file), file).normalised}
    elif kind == "recorded" and isinstance(file, str):
        found = files.info(file)
    return {name: found.get(name) for name in ("clock", "normalised")}
