"""Two tabs at once, work that is cancelled, and a log that goes away under an open page."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from dashboard_server import Server, pick_option, serving, settle
from playwright.sync_api import Browser, Page, expect

from cachecast.dashboard.opened import example_path
from cachecast.dashboard.wording import money

Visit = Callable[..., Page]
RunCli = Callable[..., tuple[int, str, str]]
_LONG_MS = 60_000
_REQUESTS = 100_000  # more than a simulation serves within two seconds


def value(page: Page, label: str) -> str:
    metric = page.get_by_test_id("stMetric").filter(has_text=label)
    return metric.get_by_test_id("stMetricValue").inner_text()


def test_two_tabs_have_a_scenario_each(visit: Visit, run_cli: RunCli) -> None:
    """Asked at the same time, and once more after both have moved on."""
    words = ("bill", example_path(), "--as", "claude-opus-5", "--as", "gpt-6-sol", "--json")
    code, out, err = run_cli(*words)
    assert code == 0, err
    totals = [money(bill["charge"]["total"], "USD") for bill in json.loads(out)["scenarios"]]
    opus, sol = visit("?as=claude-opus-5"), visit("?as=gpt-6-sol")

    assert [value(opus, "Charge"), value(sol, "Charge")] == totals
    opus.get_by_role("link", name="What-if").click()
    sol.get_by_role("link", name="What-if").click()
    expect(sol).to_have_url(re.compile(r"what-if\?.*as=gpt-6-sol"), timeout=_LONG_MS)
    settle(sol)
    assert value(sol, "Charge") == totals[1]  # the link has kept the scenario of this tab
    sol.get_by_text("Batch API").click()
    expect(sol).to_have_url(re.compile("batch%3Don"), timeout=_LONG_MS)
    settle(sol)
    settle(opus)
    assert value(opus, "Charge") == totals[0]
    assert value(sol, "Charge") != totals[1]
    assert "as=claude-opus-5" in opus.url
    assert "batch" not in opus.url


def test_each_requests_own_model_can_be_chosen_and_is_kept(visit: Visit, run_cli: RunCli) -> None:
    """Also where the dashboard was opened under a model: `--as claude-opus-5`."""
    code, out, err = run_cli("bill", example_path(), "--as", "log", "--json")
    assert code == 0, err
    (bill,) = json.loads(out)["scenarios"]
    page = visit()

    pick_option(page, "Rules and prices", "Each request's own model")
    expect(page).to_have_url(re.compile("as=log"), timeout=_LONG_MS)
    settle(page)
    assert value(page, "Charge") == money(bill["charge"]["total"], "USD")
    page.get_by_role("link", name="What-if").click()
    expect(page).to_have_url(re.compile(r"what-if\?.*as=log"), timeout=_LONG_MS)
    settle(page)
    assert value(page, "Charge") == money(bill["charge"]["total"], "USD")


def commands_of_runs(server: Server) -> list[str]:
    """What made the runs in the server's folder, where the bill of the first page has one too."""
    found = (server.folder / "runs").glob("*/run.json")
    return [json.loads(info.read_text("utf-8"))["command"] for info in found]


@pytest.fixture
def large(tmp_path: Path) -> Iterator[Server]:
    """A server over a log that takes a while to serve."""
    log = tmp_path / "large.jsonl"
    rows = (
        {"timestamp": 50 * n, "input_length": 4096, "output_length": 200,
         "hash_ids": [n % 97 * 100 + block for block in range(8)]}
        for n in range(_REQUESTS)
    )  # fmt: skip
    log.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    with serving(tmp_path / "served", str(log)) as server:
        yield server


def test_a_simulation_of_servers_is_cancelled_and_begun_again(
    chromium: Browser, large: Server
) -> None:
    page = chromium.new_page()
    page.goto(f"{large.url}/own-servers")
    serving_it = page.get_by_text("Serving the log …")
    again = page.get_by_role("button", name="Serving the log: cancelled. Start again")

    for _ in range(2):
        expect(serving_it).to_be_visible(timeout=_LONG_MS)
        page.get_by_role("button", name="Cancel").click()
        expect(again).to_be_visible(timeout=_LONG_MS)
        expect(serving_it).to_have_count(0)
        assert "simulate" not in commands_of_runs(large)  # nothing half done is left
        again.click()
    page.close()
