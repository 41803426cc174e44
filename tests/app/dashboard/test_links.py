"""What a link asks for is shown, or a sentence says why not: nothing is dropped in silence."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

from cachecast.dashboard import wording
from cachecast.dashboard.fleet_address import from_address, to_address
from cachecast.dashboard.fleet_text import CHOICES, LIMITS, FleetForm
from cachecast.dashboard.opened import example_path
from cachecast.dashboard.page_list import PAGES
from cachecast.dashboard.what_if.kept import MOST

OpenApp = Callable[..., AppTest]
Settle = Callable[[AppTest], AppTest]
RunCli = Callable[..., tuple[int, str, str]]
OPUS = "claude-opus-5"


def what_if(open_app: OpenApp, log: Path, change: str, **address: str | list[str]) -> AppTest:
    app = open_app(
        log, page="what-if", scenario=OPUS, address={"change": change, **address}
    )  # fmt: skip
    assert not app.exception
    return app


def refusal(err: str) -> str:
    """The sentence with which a command ends, as the page writes it."""
    *_, said = err.strip().splitlines()
    return wording.plain(said.removeprefix("cachecast: "))


@pytest.mark.parametrize(
    ("model", "sold"), [("gpt-6-sol", "it has: 30m"), ("deepseek-flash", "no write price at all")]
)
def test_a_lifetime_that_the_model_does_not_sell_is_refused_as_by_the_command(
    open_app: OpenApp, run_cli: RunCli, settle: Settle, model: str, sold: str
) -> None:
    change = f"model={model},ttl=1h"
    words = ("whatif", example_path(), "--as", OPUS, "--change", change)
    code, _, err = run_cli(*words)
    assert code == 2
    assert sold in err

    app = what_if(open_app, example_path(), change)
    assert refusal(err) == app.error[0].value
    assert not app.metric
    lifetime = app.segmented_control(key="what-if ttl")
    assert lifetime.value == "1h"
    assert app.query_params["change"] == change
    lifetime.set_value(None if lifetime.options[0] == "" else lifetime.options[0])
    settle(app)
    assert not app.error
    assert app.metric


@pytest.mark.parametrize("change", ["volatile=drop", "order=stable", "summary=last"])
def test_a_change_of_prompts_that_the_log_cannot_have_is_refused_as_by_the_command(
    open_app: OpenApp, run_cli: RunCli, tmp_path: Path, change: str
) -> None:
    log = tmp_path / "mooncake.jsonl"
    row = {"timestamp": 0, "input_length": 1024, "output_length": 5, "hash_ids": [1, 2]}
    log.write_text(json.dumps(row) + "\n", "utf-8")
    code, _, err = run_cli("whatif", log, "--as", OPUS, "--change", change)
    assert code == 2

    app = what_if(open_app, log, change)
    assert refusal(err) == app.error[0].value
    assert app.query_params["change"] == change


@pytest.mark.parametrize("change", ["model=nonsense", "fleet=/etc/passwd", "model=nonsense,ttl=1h"])
def test_what_no_control_can_show_is_refused_and_can_be_taken_out(
    open_app: OpenApp, settle: Settle, change: str
) -> None:
    app = what_if(open_app, example_path(), change)
    (said,) = app.error
    assert "nonsense" in said.value or "fleet files are for the command line" in said.value
    others = app.text_input(key="what-if more")
    assert others.value == change.removesuffix(",ttl=1h")

    others.set_value("")
    settle(app)
    assert not app.error
    assert app.metric


@pytest.mark.parametrize("page", [entry.address for entry in PAGES])
def test_a_link_to_a_log_that_is_not_open_here_says_so_on_every_page(
    open_app: OpenApp, page: str
) -> None:
    app = open_app(example_path(), page=page, scenario=OPUS, address={"log": "0123456789abcdef"})
    assert any("made for another log" in said.value for said in app.info)

    app = open_app(page=page, address={"log": "0123456789abcdef"})
    assert any("made for a log that is not open here" in said.value for said in app.info)


def test_a_link_to_the_log_that_is_open_says_nothing(open_app: OpenApp) -> None:
    key = open_app(example_path(), scenario=OPUS).query_params["log"]
    assert not open_app(example_path(), scenario=OPUS, address={"log": key}).info


def test_a_session_that_the_log_does_not_have_is_said(open_app: OpenApp) -> None:
    app = open_app(example_path(), page="misses", scenario=OPUS, address={"session": "gone"})

    assert any("The link names gone" in said.value for said in app.info)


def test_kept_scenarios_that_cannot_be_read_or_are_too_many_are_counted(open_app: OpenApp) -> None:
    keep = ["garbage", *(f"n{n}~ttl=1h" for n in range(MOST + 1))]
    app = what_if(open_app, example_path(), "", keep=keep)

    # the garbage and the oldest of thirteen
    assert any(said.value.startswith("2 kept scenarios of this link") for said in app.info)
    assert any("takes the place of n1" in said.value for said in app.caption)


def test_a_fleet_in_a_link_fills_the_form_and_what_it_cannot_hold_is_named(
    open_app: OpenApp, settle: Settle
) -> None:
    fleet = ["servers~3", "model~/etc/passwd", "blocks~1", "nothing"]
    app = open_app(
        example_path(), page="own-servers", scenario=OPUS, address={"fleet": fleet}
    )  # fmt: skip

    assert app.number_input(key="fleet servers").value == 3
    said = next(one.value for one in app.info if "cannot hold" in one.value)
    assert all(wording.plain(one) in said for one in fleet[1:])
    assert wording.plain("servers~3") not in said
    assert app.query_params["fleet"] == "servers~3"
    app.number_input(key="fleet servers").set_value(2)
    settle(app)
    assert app.query_params["fleet"] == "servers~2"
    assert not any("cannot hold" in one.value for one in app.info)  # the form is one's own now


_FORMS = st.builds(
    FleetForm,
    hardware=st.sampled_from(CHOICES["hardware"]), latency=st.sampled_from(CHOICES["latency"]),
    servers=st.integers(*map(int, LIMITS["servers"])),
    blocks=st.none() | st.integers(*map(int, LIMITS["blocks"])),
    traffic=st.floats(*LIMITS["traffic"]), gpu_hour=st.text(max_size=16),
)  # fmt: skip


@given(_FORMS)
def test_the_form_of_a_fleet_reads_back_from_the_address(form: FleetForm) -> None:
    assert from_address(to_address(form)) == (form, [])


def test_one_scenario_of_a_run_is_shown_on_every_page_and_is_in_the_address(
    open_app: OpenApp, settle: Settle, run_cli: RunCli, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    words = ("bill", example_path(), "--as", OPUS, "--as", "gpt-6-sol", "-o", run, "--json")
    code, out, err = run_cli(*words)
    assert code == 0, err
    app = open_app(run)
    choice = next(box for box in app.selectbox if box.label == "Scenario of the run")
    choice.set_value(1)
    settle(app)
    total = json.loads(out)["scenarios"][1]["charge"]["total"]
    assert app.metric[0].value == wording.money(total, "USD")
    assert app.query_params["bill"] == "gpt-6-sol"

    pages = {p["url_pathname"]: key for key, p in app._registered_pages.items()}
    app._page_hash = pages["misses"]
    settle(app)
    choice = next(box for box in app.selectbox if box.label == "Scenario of the run")
    assert choice.value == 1
