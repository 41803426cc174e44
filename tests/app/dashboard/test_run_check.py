"""A run that another version wrote, or that is damaged, is a sentence and never a fault of ours."""

import json
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from cachecast.dashboard import misses_numbers
from cachecast.dashboard import overview_numbers as overview
from cachecast.dashboard import own_servers_numbers as own_servers
from cachecast.dashboard.fleet_text import FleetForm
from cachecast.dashboard.opened import example_path
from cachecast.dashboard.run_check import bills_of_run, check_fleet
from cachecast_datasets.errors import BadInput

OpenApp = Callable[..., AppTest]
RunCli = Callable[..., tuple[int, str, str]]
Info = dict[str, Any]
Place = tuple[str | int, ...]


@pytest.fixture
def run(run_cli: RunCli, tmp_path: Path) -> Path:
    """A run of `simulate` with a bill."""
    fleet = tmp_path / "fleet.toml"
    fleet.write_text(FleetForm(servers=2, gpu_hour="2.50").text(), encoding="utf-8")
    words = ("--fleet", fleet, "--as", "claude-opus-5", "-o", tmp_path / "run")
    code, _, err = run_cli("simulate", example_path(), *words)
    assert code == 0, err
    return tmp_path / "run"


def rewrite(run: Path, change: Callable[[Info], None]) -> None:
    file = run / "run.json"
    info = json.loads(file.read_text("utf-8"))
    change(info)
    file.write_text(json.dumps(info), encoding="utf-8")


def show(info: Info) -> None:
    """Everything that the pages show of a `run.json`."""
    bills = bills_of_run(info)
    for bill in bills:
        overview.tiles(bill)
        overview.by_class(bill)
        overview.tokens_by_class(bill)
        overview.warnings(bill)
        misses_numbers.headline(bill)
        misses_numbers.reasons(bill)
    check_fleet(info)
    fleet = info["fleet"]
    own_servers.rejected(fleet)
    own_servers.tiles(fleet)
    own_servers.misses(fleet)
    for bill in bills:
        own_servers.costs(fleet, bill)
        own_servers.break_even(fleet, bill, 1.0)
    for name in ("ttft", "itl"):
        if info.get("distributions") is not None:
            own_servers.distribution(info["distributions"], name, fleet[f"{name}_s"])


def told(info: Info) -> str | None:
    """The refusal; None where all is shown."""
    try:
        show(info)
    except BadInput as problem:
        return str(problem)
    return None


def places(value: Any, place: Place = ()) -> Iterator[Place]:
    """Every place of a JSON document; of a list its first entry."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield (*place, name)
            yield from places(inner, (*place, name))
    elif isinstance(value, list) and value:
        yield from places(value[0], (*place, 0))


def changed(info: Info, place: Place, *value: Any) -> Info:
    """The document with another value there, or without it."""
    found = deepcopy(info)
    inner: Any = found
    for name in place[:-1]:
        inner = inner[name]
    if value:
        inner[place[-1]] = value[0]
    else:
        del inner[place[-1]]
    return found


@pytest.mark.parametrize("value", [(), (None,), ({},)], ids=repr)
def test_whatever_is_missing_or_of_another_kind_is_shown_or_refused(
    run: Path, value: tuple[Any, ...]
) -> None:
    info = json.loads((run / "run.json").read_text("utf-8"))
    show(info)
    refused = [said for place in places(info) if (said := told(changed(info, place, *value)))]
    assert len(refused) > 20
    assert all("another version of cachecast wrote it" in said for said in refused)


def test_a_run_without_a_field_says_which_and_sql_still_answers(
    open_app: OpenApp, run: Path
) -> None:
    rewrite(run, lambda info: info["fleet"].pop("makespan_s"))

    app = open_app(run, page="own-servers")
    (said,) = app.error
    assert "has not the fleet.makespan\\_s that this page shows" in said.value
    assert not app.exception
    assert not open_app(run, page="sql").error


def test_a_run_of_a_later_format_is_refused_and_another_one_is_offered(
    open_app: OpenApp, run: Path
) -> None:
    rewrite(run, lambda info: info.update(version=info["version"] + 1))

    app = open_app(run)
    (said,) = app.error
    assert "version 2 of the run format; this program reads 1" in said.value
    assert "Open the built-in example" in [button.label for button in app.button]
