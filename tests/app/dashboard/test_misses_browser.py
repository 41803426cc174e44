"""Drilling down in a real browser: a click on a session shows its ribbon, the URL names it."""

import json
from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

from dashboard_server import click_row, settle
from playwright.sync_api import Page, expect

from cachecast.dashboard import misses_numbers
from cachecast.dashboard.opened import example_path
from cachecast.dashboard.wording import money

Visit = Callable[..., Page]
RunCli = Callable[..., tuple[int, str, str]]


def test_a_click_on_a_session_draws_its_ribbon_and_a_reload_keeps_it(
    visit: Visit, run_cli: RunCli
) -> None:
    _, out, _ = run_cli("why", example_path(), "--as", "claude-opus-5", "--no-text", "--json")
    first, second, *_ = misses_numbers.sessions(json.loads(out))
    page = visit("misses")
    expect(page.get_by_text(f"{first['session']}: {first['requests']} request")).to_be_visible()

    title = page.get_by_text(f"{second['session']}: {second['requests']} request")
    click_row(page, 1, until=title)
    settle(page)
    assert money(second["avoidable_cost"], "USD") in title.inner_text()
    expect(page.get_by_test_id("stVegaLiteChart").last.locator("canvas, svg").first).to_be_visible()
    assert parse_qs(urlsplit(page.url).query)["session"] == [second["session"]]
    page.reload()
    settle(page)
    expect(title).to_be_visible()


def test_a_click_on_a_bar_of_the_ribbon_chooses_its_request(visit: Visit) -> None:
    page = visit("misses")
    chart = page.get_by_test_id("stVegaLiteChart").last
    chart.scroll_into_view_if_needed()
    chosen = page.get_by_test_id("stSelectbox").filter(has_text="A request that missed")
    before = chosen.locator("input").input_value()
    assert before
    box = chart.bounding_box()
    assert box is not None
    # of the dearest session's bars one in the middle, near its left end
    page.mouse.click(box["x"] + 75, box["y"] + box["height"] * 0.4)
    expect(chosen.locator("input")).not_to_have_value(before)
