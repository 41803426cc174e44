"""The page What-if: a control changes the numbers, and they are those of `cachecast whatif`."""

import csv
import io
import json
import re
import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from playwright.sync_api import Page, expect
from streamlit.testing.v1 import AppTest

from cachecast.dashboard.answers import Answers
from cachecast.dashboard.folder import Folder
from cachecast.dashboard.opened import Opened, opened
from cachecast.dashboard.pages import what_if as what_if_page
from cachecast.dashboard.questions.what_if import WHAT_IF, change_text
from cachecast.dashboard.what_if import export, numbers, waterfalls
from cachecast.dashboard.what_if.draft import Draft
from cachecast.dashboard.what_if.fleets import Fleet
from cachecast.dashboard.what_if.sections import best_draft
from cachecast.progress import Report
from cachecast_datasets.errors import BadInput

OpenApp = Callable[..., AppTest]
Settle = Callable[[AppTest], AppTest]
RunCli = Callable[..., tuple[int, str, str]]
Ask = Callable[..., dict[str, Any]]

ROWS = [
    {"at": at, "model": "claude-opus-5", "session": "s", "output": 10, "took": 1,
     "prompt": [["system", "S", 6000, "5m"]]}
    for at in (0, 600)
]  # fmt: skip
FLEET = Fleet(1, "h100-sxm", "llama-3.1-8b", gpu_hour="3.60").text


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Two requests of one prompt, ten minutes apart: 5m expires, 1h does not."""
    file = tmp_path / "log.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return file


@pytest.fixture
def ask(answers: Answers, log: Path) -> Ask:
    """The page's answer for a change under claude-opus-5."""

    def run(*changes: str) -> dict[str, Any]:
        work = answers.open(log, "log")
        work.wait()
        assert work.answer is not None, work.problem
        asked = answers.ask(WHAT_IF, opened(work.answer), "claude-opus-5", *changes)
        asked.wait()
        if asked.answer is None:
            raise BadInput(asked.problem or "")
        return asked.answer

    return run


def charge(app: AppTest) -> tuple[str, str]:
    """The number and its change."""
    (metric,) = [metric for metric in app.metric if metric.label == "Charge"]
    return metric.value, metric.delta


def page_of(open_app: OpenApp, log: Path) -> AppTest:
    return open_app(log, page="what-if", scenario="claude-opus-5")


def test_what_the_controls_ask_is_answered_before_scenarios_that_were_kept(
    open_app: OpenApp, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []

    def answer(
        about: Opened, asked: tuple[str, ...], folder: Folder, report: Report
    ) -> dict[str, Any]:
        order.append(",".join(asked[1:]))
        return WHAT_IF.answer(about, asked, folder, report)

    monkeypatch.setattr(what_if_page, "WHAT_IF", replace(WHAT_IF, answer=answer))
    link = {"change": "ttl=1h", "keep": ["cheap~batch", "last~mark=last", "none~mark=none"]}
    app = open_app(log, page="what-if", scenario="claude-opus-5", address=link)

    assert order[0] == "ttl=1h"
    assert sorted(order[1:]) == ["batch", "mark=last", "mark=none"]
    [table] = [e.proto.body for e in app.get("html") if "As it is" in e.proto.body]
    shown = ["As it is", "Now", "cheap", "last", "none"]
    assert sorted(shown, key=table.index) == shown


def test_a_moved_control_changes_the_charge(open_app: OpenApp, settle: Settle, log: Path) -> None:
    """5m: two writes of 6,000 at $6.25; 1h: a write at $10 and a read at $0.50; 2 x 10 x $25."""
    app = page_of(open_app, log)
    assert charge(app) == ("$0.0755", "")

    app.segmented_control(key="what-if ttl").set_value("1h")
    settle(app)

    assert not app.exception
    assert charge(app) == ("$0.0635", "-$0.0120 (-15.9 %)")
    assert app.query_params["change"] == "ttl=1h"


def test_the_address_brings_scenarios_and_controls_back(
    open_app: OpenApp, settle: Settle, log: Path
) -> None:
    app = page_of(open_app, log)
    app.segmented_control(key="what-if ttl").set_value("1h")
    settle(app)
    next(t for t in app.text_input if t.label == "Name of this scenario").set_value("Hour")
    [button] = [button for button in app.button if button.label == "Keep it"]
    button.click()
    settle(app)
    shared = dict(app.query_params)
    assert shared["keep"] == "Hour~ttl=1h"
    assert str(log.parent) not in repr(shared)

    again = open_app(log, page="what-if", scenario="claude-opus-5", address=shared)
    assert again.segmented_control(key="what-if ttl").value == "1h"
    assert charge(again) == charge(app)
    assert [one for box in again.selectbox for one in box.options if one == "Hour"] == ["Hour"]


def test_what_a_model_cannot_do_is_said_in_a_sentence(
    open_app: OpenApp, settle: Settle, log: Path
) -> None:
    app = page_of(open_app, log)

    app.text_input(key="what-if more").set_value("nothing=1")
    settle(app)

    assert not app.exception
    assert "unknown change" in app.error[0].value
    assert not app.metric


@pytest.mark.parametrize(
    "change", ["ttl=1h", "model=gpt-6-sol,batch=on", "keep-alive=290x3", f"fleet={FLEET}"]
)
def test_the_page_has_the_numbers_of_the_command_it_names(
    ask: Ask, answers: Answers, log: Path, run_cli: RunCli, change: str
) -> None:
    text = change_text(change, answers.folder)
    command = shlex.split(export.command(log, "claude-opus-5", [text]))
    code, out, err = run_cli(*command[1:], "--json")

    assert code == 0, err
    assert json.loads(out) == json.loads(json.dumps(ask(change)))


def test_a_fleet_file_is_not_opened_for_an_address(ask: Ask, log: Path) -> None:
    with pytest.raises(BadInput, match="fleet files are for the command line"):
        ask(f"fleet={log}")


def test_what_a_change_leaves_alone_is_called_unchanged(ask: Ask) -> None:
    """Batch prices are half of the others; the cache reads and writes the same."""
    said = {tile.label: tile.delta for tile in numbers.tiles(ask("batch=on"))}

    assert said["Charge"] == "-$0.0378 (-50.0 %)"
    assert said["Read from the cache"] == said["Left to prefill"] == "unchanged"


def test_the_waterfall_leads_from_bill_to_bill(ask: Ask) -> None:
    """A write of $0.0375 becomes a read of $0.003, the other one costs $0.0225 more."""
    rows = waterfalls.waterfall(ask("ttl=1h"))

    assert [(row["step"], row["text"]) for row in rows] == [
        ("as it is", "$0.0755"), ("read", "+$0.00300"), ("written", "-$0.0150"),
        ("with changes", "$0.0635"),
    ]  # fmt: skip
    assert rows[1]["start"] == rows[0]["end"]
    assert rows[2]["end"] == pytest.approx(0.0635)


def test_several_changes_are_shown_one_by_one_and_lead_to_the_same_bill(ask: Ask) -> None:
    """An hour saves $0.0120 of $0.0755; batch prices then halve the other $0.0635."""
    steps = Draft(ttl="1h", batch=True).steps
    assert steps == ["ttl=1h", "ttl=1h,batch=on"]

    rows = waterfalls.by_change(steps, [ask(step) for step in steps])
    assert [(row["step"], row["class"], row["text"]) for row in rows] == [
        ("as it is", "total", "$0.0755"), ("ttl=1h", "pay less", "-$0.0120"),
        ("batch=on", "pay less", "-$0.0318"), ("with changes", "total", "$0.0318"),
    ]  # fmt: skip
    assert rows[-1]["end"] == pytest.approx(0.03175)


def test_changes_without_a_common_currency_are_not_drawn_one_by_one(ask: Ask) -> None:
    steps = ["model=deepseek-flash", "model=deepseek-flash,currency=CNY"]
    assert waterfalls.by_change(steps, [ask(step) for step in steps]) == []


def test_the_page_draws_several_changes_one_by_one(
    open_app: OpenApp, settle: Settle, log: Path
) -> None:
    app = page_of(open_app, log)
    app.segmented_control(key="what-if ttl").set_value("1h")
    settle(app)
    assert "**Change by change**" not in [text.value for text in app.markdown]

    app.toggle(key="what-if batch").set_value(True)
    settle(app)
    assert not app.exception
    assert "**Change by change**" in [text.value for text in app.markdown]


def test_own_servers_have_their_gpus_in_the_waterfall_and_a_first_token(ask: Ask) -> None:
    answer = ask(f"fleet={FLEET}")

    steps = [row["step"] for row in waterfalls.waterfall(answer)]
    assert steps == ["as it is", "written", "output", "GPUs", "with changes"]
    assert [tile.label for tile in numbers.tiles(answer)][-1] == "Time to first token"


def test_who_loses_is_a_share_of_sessions(ask: Ask) -> None:
    (better,) = numbers.sessions(ask("ttl=1h"))

    assert better["text"] == "pay less: 1 (100.0 %)"
    assert numbers.sessions(ask(f"fleet={FLEET}")) == []


def test_files_have_exact_money_and_harmless_names(ask: Ask) -> None:
    rows = [
        numbers.row_of("As it is", "", ask()),
        numbers.row_of("=cmd()", "ttl=1h", ask("ttl=1h")),
    ]
    _, hour = csv.DictReader(io.StringIO(export.as_csv(rows)))
    table = pq.read_table(io.BytesIO(export.as_parquet(rows))).to_pylist()

    assert hour["scenario"] == "'=cmd()"
    assert (hour["charge"], hour["charge_change"]) == ("0.0635", "-0.012")
    assert (hour["sessions_better"], hour["ttft_p50_s"]) == ("1", "")
    assert table == rows


def test_the_best_policy_becomes_a_scenario_of_the_controls() -> None:
    found = {"policy": {"mark": "tools:1h+end:5m", "keep_alive": "290x3"}}

    best = best_draft(found, "claude-opus-5", "claude-opus-5")

    assert best == Draft(model="claude-opus-5", mark="tools:1h+end:5m", every_s=290, times=3)


def test_in_a_browser_a_control_moves_the_number(visit: Callable[..., Page]) -> None:
    page = visit("what-if?as=claude-opus-5")
    number = page.get_by_test_id("stMetricValue").first
    before = number.inner_text()

    page.get_by_text("1h", exact=True).first.click()

    expect(number).not_to_have_text(before)
    expect(page.get_by_test_id("stMetricDelta").first).to_contain_text("%")
    expect(page).to_have_url(re.compile(r"change=ttl%3D1h"))
    expect(page.get_by_text("From today's bill to this one")).to_be_visible()
