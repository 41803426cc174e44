"""The dashboard as a person meets it: a real server, a real browser, hostile files."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from api_calls import claude, message, pair, usage
from dashboard_server import Server, settle
from playwright.sync_api import Page, expect

from cachecast.dashboard.opened import example_path
from cachecast.dashboard.wording import money, share

Visit = Callable[..., Page]
RunCli = Callable[..., tuple[int, str, str]]
_SECRET = "the heron waits"


def text_of(page: Page) -> str:
    return page.locator('[data-testid="stApp"]').inner_text()


def drop(page: Page, path: Path) -> None:
    """Drop a file into the dialog of the sidebar and open it."""
    page.get_by_role("button", name="Open another").click()
    page.locator('input[type="file"]').set_input_files(path)
    page.get_by_role("button", name=f"Open {path.name}").click()
    settle(page)


def ask(page: Page, query: str) -> None:
    page.get_by_label("Query", exact=True).fill(query)
    page.get_by_role("button", name="Run").click()
    settle(page)


def test_the_first_page_shows_the_bill_of_the_command_line(visit: Visit, run_cli: RunCli) -> None:
    _, out, _ = run_cli("bill", example_path(), "--as", "claude-opus-5", "--json")
    (bill,) = json.loads(out)["scenarios"]

    text = text_of(visit())
    assert money(bill["charge"]["total"], "USD") in text
    assert money(bill["net_saving"], "USD") in text
    assert share(bill["token_hit_ratio"]) in text


def test_a_dropped_log_replaces_the_open_one_and_survives_a_reload(
    visit: Visit, server: Server, tmp_path: Path
) -> None:
    log = tmp_path / "mine.jsonl"
    line = {"at": 0, "model": "claude-opus-5", "output": 10, "prompt": [["user", "Q", 3000, "5m"]]}
    log.write_text(json.dumps(line) + "\n" + json.dumps(line | {"at": 9}) + "\n")
    page = visit()

    drop(page, log)
    expect(page.get_by_role("heading", name="mine.jsonl")).to_be_visible()
    # both write or read 3000 tokens: half of the prompt tokens were read
    assert "50.0 %" in text_of(page)
    page.reload()
    settle(page)
    expect(page.get_by_role("heading", name="mine.jsonl")).to_be_visible()
    assert log.name not in page.url
    assert [file.read_bytes() for file in (server.folder / "uploads").iterdir()].count(
        log.read_bytes()
    ) == 1


def test_sql_answers_and_refuses_to_leave_the_run(
    visit: Visit, server: Server, tmp_path: Path
) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text("word\nsesame\n")
    page = visit("sql")
    expect(page.get_by_test_id("stDataFrame")).to_be_visible()

    for query in (f"COPY ledger TO '{tmp_path}/out.csv'", f"FROM read_csv('{secret}')"):
        ask(page, query)
        expect(page.get_by_test_id("stAlert")).to_have_count(1)
        expect(page.get_by_test_id("stDataFrame")).to_have_count(0)
        assert "SQL" in page.get_by_test_id("stAlert").inner_text()
    assert "sesame" not in text_of(page)
    assert [file.name for file in tmp_path.iterdir()] == [secret.name]

    ask(page, 'SELECT \'<img src=x onerror="window.hacked=1">\' AS "<b>n</b>", 1 AS image')
    expect(page.get_by_test_id("stDataFrame")).to_be_visible()
    assert page.evaluate("window.hacked") is None


def test_a_file_name_is_text_and_never_markup(visit: Visit, tmp_path: Path) -> None:
    name = "<img src=x onerror=window.hacked=1>**b** $x$ :red[y].jsonl"
    log = tmp_path / name
    line = {"at": 0, "model": name, "output": 10, "prompt": [["user", "Q", 3000, "5m"]]}
    log.write_text(json.dumps(line) + "\n")
    page = visit()

    drop(page, log)
    expect(page.get_by_role("heading", name=name)).to_be_visible()
    assert page.evaluate("window.hacked") is None
    assert page.locator('img[src="x"]').count() == 0


def test_fifty_megabytes_of_garbage_end_in_one_sentence(visit: Visit, tmp_path: Path) -> None:
    garbage = tmp_path / "garbage.bin"
    garbage.write_bytes(bytes(range(256)) * (50 * 2**20 // 256))
    page = visit()

    drop(page, garbage)
    expect(page.get_by_test_id("stAlert")).to_have_count(1)
    assert "expected one of" in page.get_by_test_id("stAlert").inner_text()
    assert "Traceback" not in text_of(page)


@pytest.mark.parametrize("whole", [True, False], ids=["a log with text", "a broken one"])
def test_no_word_of_a_prompt_is_on_screen_in_the_url_or_in_the_servers_log(
    visit: Visit, server: Server, tmp_path: Path, whole: bool
) -> None:
    call = claude(messages=[{"role": "user", "content": f"{_SECRET} {'x ' * 3000}"}])
    row = json.dumps(pair(call, message(usage(3000))))
    log = tmp_path / "calls.jsonl"
    log.write_text(row + "\n" + ("" if whole else row[:-40] + "\n"))
    page = visit()

    drop(page, log)
    expect(page.get_by_role("heading", name="calls.jsonl")).to_have_count(1 if whole else 0)
    for place in (text_of(page), page.url, server.log.read_text()):
        assert _SECRET not in place


def test_the_server_listens_here_only_and_the_browser_calls_nobody_else(
    visit: Visit, server: Server
) -> None:
    page = visit("sql")
    called: list[str] = []
    page.on("request", lambda request: called.append(request.url))

    page.reload()
    settle(page)
    outside = [url for url in called if not url.startswith((server.url, "data:", "blob:"))]
    assert called
    assert not outside
