"""How soon the dashboard's first page is useful in a real browser, and how much memory it takes.

    python benchmarks/dashboard.py                # the built-in example
    python benchmarks/dashboard.py LOG --as log   # a log of your own

cold: from the start of the process, with an empty folder, to the bill's numbers on screen, in a
browser that has never been here; returning: the same in one that has Streamlit's files from before.
restart: with the answers of the run before. warm: a reload; another page. It needs chromium.
"""

import argparse
import re
import statistics
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Browser, BrowserContext, Page, ViewportSize, sync_playwright

from cachecast.dashboard.opened import example_path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
from dashboard_server import CHROMIUM_FLAGS, Server, chromium, free_port, serving, settle

VIEW: ViewportSize = {"width": 1280, "height": 800}
_RELOADS = 10


def main() -> None:
    """Print a line a figure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("log", nargs="?", type=Path, default=example_path())
    parser.add_argument("--as", dest="scenario", default="claude-opus-5")
    asked = parser.parse_args()
    path = chromium()
    if path is None:
        print("no chromium on the PATH: nothing measured")
        return
    words = (str(asked.log), "--as", asked.scenario)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(CHROMIUM_FLAGS))
        port = free_port()  # one place, so that the browser keeps Streamlit's files
        returning = browser.new_context(viewport=VIEW)
        for name in ("cold", "returning", "restart"):
            context = browser.new_context(viewport=VIEW) if name == "cold" else returning
            kept = Path(folder, "cold" if name == "cold" else "returning")
            if name == "cold":
                with serving(Path(folder, "before"), port=port) as server:
                    returning.new_page().goto(server.url, wait_until="networkidle")
            started = time.perf_counter()
            with serving(kept, *words, port=port) as server:
                _say(f"{name}: the server answers", started)
                page = _open(context, server.url)
                _say(f"{name}: first page useful", started)
                settle(page)
                _say(f"{name}: everything on it", started)
                if name == "cold":
                    _warm(browser, page, server)
                    print(f"{'peak memory of the server':<34} {_peak_mib(server):>8,} MiB")
        browser.close()


def _warm(browser: Browser, page: Page, server: Server) -> None:
    reloads = []
    for _ in range(_RELOADS):
        started = time.perf_counter()
        page.reload(wait_until="commit")
        _wait_for_numbers(page)
        reloads.append(time.perf_counter() - started)
        settle(page)
    median, worst = statistics.median(reloads), max(reloads)
    print(f"{'warm: reload':<34} {median:>8.2f} s, worst of {_RELOADS} {worst:.2f} s", flush=True)
    for name in ("SQL", "Overview"):
        started = time.perf_counter()
        page.get_by_role("link", name=name).click()
        page.get_by_role("heading", level=2).or_(
            page.get_by_test_id("stMetricValue")
        ).first.wait_for()
        if name == "Overview":
            _wait_for_numbers(page)
        _say(f"warm: to the page {name}", started)
        settle(page)
    started = time.perf_counter()
    _open(browser.new_context(viewport=VIEW), server.url)
    _say("warm: another visitor", started)


def _open(context: BrowserContext, url: str) -> Page:
    page = context.new_page()
    page.set_default_timeout(120_000)
    page.goto(url, wait_until="commit")
    _wait_for_numbers(page)
    return page


def _wait_for_numbers(page: Page) -> None:
    page.get_by_test_id("stMetricValue").nth(3).wait_for()


def _say(what: str, started: float) -> None:
    print(f"{what:<34} {time.perf_counter() - started:>8.2f} s", flush=True)


def _peak_mib(server: Server) -> int:
    """Peak resident memory of the process."""
    status = Path(f"/proc/{server.process.pid}/status")
    found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text())
    assert found is not None
    return int(found[1]) // 1024


if __name__ == "__main__":
    main()
