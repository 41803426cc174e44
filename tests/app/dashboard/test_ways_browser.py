"""A person walks about: forth and back, reloads, new tabs. What was chosen stays, as it was."""

import json
import re
from collections.abc import Callable
from pathlib import Path

from dashboard_server import click_row, pick_option, settle
from playwright.sync_api import Locator, Page, expect

from cachecast.dashboard import misses_numbers
from cachecast.dashboard.opened import example_path
from cachecast.dashboard.wording import money

Visit = Callable[..., Page]
RunCli = Callable[..., tuple[int, str, str]]
_LONG_MS = 180_000


def value(page: Page, label: str) -> Locator:
    metric = page.get_by_test_id("stMetric").filter(has_text=label)
    return metric.get_by_test_id("stMetricValue").first


def go(page: Page, name: str) -> None:
    """Click that link of the navigation."""
    page.get_by_role("link", name=name).click()
    ending = "/\\?" if name == "Overview" else re.escape(name.lower().replace(" ", "-")) + "\\?"
    expect(page).to_have_url(re.compile(ending), timeout=_LONG_MS)
    settle(page)


def choose(page: Page, what: str, address: str) -> None:
    """Click a control, until the address has it."""
    page.get_by_text(what, exact=True).first.click()
    expect(page).to_have_url(re.compile(re.escape(address)), timeout=_LONG_MS)
    settle(page)


def charges(run_cli: RunCli, *changes: str) -> list[str]:
    """What `whatif` says that the log costs as it is, and with each change."""
    words = [word for change in changes for word in ("--change", change)]
    code, out, err = run_cli("whatif", example_path(), "--as", "claude-opus-5", *words, "--json")
    assert code == 0, err
    found = json.loads(out)
    docs = [found["baseline"], *found["scenarios"]]
    return [money(doc["charge"]["total"], "USD") for doc in docs]


def test_back_and_forward_lead_through_what_was_chosen(visit: Visit, run_cli: RunCli) -> None:
    """One step of the browser's history for each choice and each page."""
    as_it_is, batch, both = charges(run_cli, "batch=on", "ttl=1h,batch=on")
    page = visit()
    go(page, "What-if")
    choose(page, "Batch API", "change=batch%3Don")
    choose(page, "1h", "change=ttl%3D1h%2Cbatch%3Don")
    expect(value(page, "Charge")).to_have_text(both, timeout=_LONG_MS)
    go(page, "Misses")

    for charge in (both, batch, as_it_is):
        page.go_back()
        expect(value(page, "Charge")).to_have_text(charge, timeout=_LONG_MS)
    expect(page.get_by_role("switch", name="Batch API")).not_to_be_checked()
    page.go_back()
    expect(page.get_by_role("heading", name="demo.jsonl")).to_be_visible(timeout=_LONG_MS)
    for charge in (as_it_is, batch):
        page.go_forward()
        expect(value(page, "Charge")).to_have_text(charge, timeout=_LONG_MS)
    expect(page.get_by_role("switch", name="Batch API")).to_be_checked()
    choose(page, "5m", "change=ttl%3D5m%2Cbatch%3Don")  # and goes on from there


def test_a_link_in_a_new_tab_has_all_that_was_chosen(visit: Visit, run_cli: RunCli) -> None:
    _, ttl = charges(run_cli, "ttl=1h")
    page = visit("what-if")
    choose(page, "1h", "change=ttl%3D1h")
    page.get_by_role("textbox", name="Name of this scenario").fill("Hour")
    page.get_by_role("button", name="Keep it").click()
    expect(page).to_have_url(re.compile("keep=Hour~ttl%3D1h"), timeout=_LONG_MS)
    expect(page.get_by_role("textbox", name="Name of this scenario")).to_have_value("")
    link = page.get_by_role("link", name="Misses")
    expect(link).to_have_attribute("href", re.compile("keep=Hour"), timeout=_LONG_MS)

    with page.context.expect_page() as opening:
        link.click(button="middle")
    tab = opening.value
    settle(tab)
    expect(tab).to_have_url(re.compile(r"misses\?.*as=claude-opus-5"))
    tab.reload()
    settle(tab)
    go(tab, "What-if")
    expect(value(tab, "Charge")).to_have_text(ttl, timeout=_LONG_MS)
    expect(tab.get_by_role("cell", name="Hour")).to_be_visible(timeout=_LONG_MS)


def test_a_session_is_still_chosen_after_a_look_at_another_page(
    visit: Visit, run_cli: RunCli
) -> None:
    _, out, _ = run_cli("why", example_path(), "--as", "claude-opus-5", "--no-text", "--json")
    _, second, *_ = misses_numbers.sessions(json.loads(out))
    page = visit("misses")
    title = page.get_by_text(f"{second['session']}: {second['requests']} request")
    click_row(page, 1, until=title)
    pick_option(page, "Hours that lost to", "every reason")

    go(page, "SQL")
    go(page, "Misses")
    expect(title).to_be_visible(timeout=_LONG_MS)
    expect(page.get_by_role("combobox", name="Hours that lost to")).to_have_value("every reason")


def test_a_fleet_and_its_price_survive_a_reload(visit: Visit) -> None:
    page = visit("own-servers")
    servers = page.get_by_role("spinbutton", name="Servers", exact=True)
    servers.fill("2")
    servers.press("Enter")
    expect(page).to_have_url(re.compile("fleet=servers~2"), timeout=_LONG_MS)
    price = page.get_by_role("textbox", name="Price of a GPU hour")
    price.fill("2.50")
    price.press("Enter")
    expect(value(page, "GPU cost")).to_have_text(re.compile(r"^\$"), timeout=_LONG_MS)
    settle(page)
    cost = value(page, "GPU cost").inner_text()

    page.reload()
    settle(page)
    expect(servers).to_have_value("2")
    expect(price).to_have_value("2.50")
    expect(value(page, "GPU cost")).to_have_text(cost, timeout=_LONG_MS)


def test_the_way_back_leads_to_the_log_that_was_open(visit: Visit, tmp_path: Path) -> None:
    line = {"at": 0, "model": "claude-opus-5", "output": 10, "prompt": [["user", "Q", 3000, "5m"]]}
    log = tmp_path / "dropped.jsonl"
    log.write_text(json.dumps(line) + "\n", "utf-8")
    page = visit()
    first = page.get_by_role("heading", name="demo.jsonl")
    expect(first).to_be_visible(timeout=_LONG_MS)
    page.get_by_role("button", name="Open another").click()
    page.locator('input[type="file"]').set_input_files(log)
    page.get_by_role("button", name="Open dropped.jsonl").click()
    dropped = page.get_by_role("heading", name="dropped.jsonl")
    expect(dropped).to_be_visible(timeout=_LONG_MS)
    settle(page)

    page.go_back()
    expect(first).to_be_visible(timeout=_LONG_MS)
    page.go_forward()
    expect(dropped).to_be_visible(timeout=_LONG_MS)
