"""The real dashboard in a process of its own, for tests in a real browser."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Locator, Page, expect

# As root, without a display, and silent: Chromium calls nobody but us.
CHROMIUM_FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage",
)  # fmt: skip
_START_S = 180
_ROW, _HEADER = 35, 36  # pixels of Streamlit's table
_CLICKS, _CLICK_MS = 6, 20_000


@dataclass(frozen=True, slots=True)
class Server:
    """A running dashboard: its address, its folder, what it has said so far, its process."""

    url: str
    folder: Path
    log: Path
    process: subprocess.Popen[bytes]


def chromium() -> str | None:
    """The browser to test with, if there is one."""
    return shutil.which("chromium") or shutil.which("chromium-browser")


@contextmanager
def serving(
    folder: Path, *arguments: str, port: int | None = None, cwd: Path | None = None
) -> Iterator[Server]:
    """`cachecast dashboard ARGUMENTS` until the end of the block, then it is told Ctrl-C."""
    folder.mkdir(parents=True, exist_ok=True)
    port = port or free_port()
    log = folder / "server.log"
    command = [sys.executable, "-m", "cachecast", "dashboard", *arguments, "--no-browser"]
    command += ["--port", str(port), "--folder", str(folder / "kept")]
    with log.open("wb") as out:
        process = subprocess.Popen(
            command, stdout=out, stderr=subprocess.STDOUT, cwd=cwd,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )  # fmt: skip
    server = Server(f"http://127.0.0.1:{port}", folder / "kept", log, process)
    try:
        _wait_until_it_answers(server)
        yield server
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(_START_S)


def settle(page: Page) -> None:
    """Wait until the page stands still: no script runs and no progress is shown."""
    page.wait_for_selector('[data-testid="stApp"][data-test-script-state="notRunning"]')
    page.wait_for_function(
        """() => {
            const app = document.querySelector('[data-testid="stApp"]');
            const still = app?.dataset.testScriptState === 'notRunning';
            const busy = document.querySelector('[data-testid="stProgress"]');
            const now = performance.now();
            if (!still || busy) { window.stillSince = undefined; return false; }
            window.stillSince ??= now;
            return now - window.stillSince > 400;
        }"""
    )


def wait_for(page: Page, test_id: str, number: int = 1) -> None:
    """Wait until that many elements of that kind are on the page, to the frame that draws them.

    Playwright's own `wait_for` looks twice a second after a third of a second.
    """
    page.wait_for_function(
        '([id, number]) => document.querySelectorAll(`[data-testid="${id}"]`).length >= number',
        arg=[test_id, number],
        polling="raf",
    )


def drawn(page: Page) -> None:
    """Wait until the page stands still and all that it shows is drawn: letters, charts, tables."""
    settle(page)
    page.wait_for_function(
        """() => {
            const all = (inside) => [...document.querySelectorAll(inside)];
            const seen = (part) => part !== null && part.getBoundingClientRect().width > 0;
            const painted = (element) => seen(element.querySelector('svg.marks, canvas'));
            return document.fonts.status === 'loaded'
                && all('[data-testid="stVegaLiteChart"]').every(painted)
                && all('[data-testid="stDataFrame"]').every(painted)
                && all('[data-stale="true"], [data-testid="stSkeleton"]').length === 0;
        }"""
    )
    # what was laid out is on screen once the browser has painted twice
    page.evaluate(
        "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
    )


def click_row(page: Page, row: int, until: Locator) -> None:
    """Click that row of the page's first table until it has led where it should.

    The table is a picture that takes clicks some time after it is drawn; nothing in the page says
    when. A second click on a chosen row changes nothing.
    """
    drawn(page)
    table = page.get_by_test_id("stDataFrame").first
    for _ in range(_CLICKS):
        table.scroll_into_view_if_needed()
        table.click(position={"x": 18, "y": _HEADER + _ROW * row + _ROW // 2})
        try:
            expect(until).to_be_visible(timeout=_CLICK_MS)
        except AssertionError:
            continue
        return
    expect(until).to_be_visible()


def pick_option(page: Page, label: str, option: str) -> None:
    """Choose an option of a box. A page that is drawn anew meanwhile closes it: it is opened again.

    The page stands still before and after.
    """
    settle(page)
    found = page.get_by_role("option", name=option, exact=True)
    for _ in range(_CLICKS):
        page.get_by_role("combobox", name=label).click()
        try:
            expect(found).to_be_visible(timeout=_CLICK_MS)
        except AssertionError:
            page.keyboard.press("Escape")
            continue
        break
    found.click()
    settle(page)


def _wait_until_it_answers(server: Server) -> None:
    for _ in range(10 * _START_S):
        try:
            with urllib.request.urlopen(f"{server.url}/_stcore/health", timeout=10):
                return
        except OSError:
            assert server.process.poll() is None, server.log.read_text()
            time.sleep(0.1)
    raise AssertionError(f"no answer at {server.url}: {server.log.read_text()}")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
        assert isinstance(port, int)
        return port
