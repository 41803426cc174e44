"""The dashboard in Streamlit's own test harness, and in a real browser."""

import os
import sys
from collections.abc import Callable, Iterator
from importlib.resources import files
from pathlib import Path

import dashboard_server
import pytest
from dashboard_server import Server, serving
from dashboard_server import settle as settle_page
from playwright.sync_api import Browser, Page, expect, sync_playwright
from streamlit.testing.v1 import AppTest

from cachecast.dashboard.answers import Answers, answers_in
from cachecast.dashboard.arguments import Arguments
from cachecast.dashboard.opened import example_path

SCRIPT = str(files("cachecast.dashboard") / "script" / "cachecast_dashboard.py")
OpenApp = Callable[..., AppTest]
Visit = Callable[..., Page]
_PATIENCE_MS = 60_000


@pytest.fixture
def answers(tmp_path: Path) -> Answers:
    """The answers of this test's own folder, those that the app gives too."""
    return answers_in(tmp_path / "dashboard")


@pytest.fixture
def open_app(answers: Answers, monkeypatch: pytest.MonkeyPatch, root: Path) -> OpenApp:
    """`open_app(LOG, page="sql", scenario="claude-opus-5")`: the page, once all work has ended."""

    def run(
        source: Path | None = None, *, page: str = "overview", scenario: str = "log",
        address: dict[str, str | list[str]] | None = None,
    ) -> AppTest:  # fmt: skip
        words = Arguments(source, scenario, answers.folder.path).as_list()
        monkeypatch.setattr(sys, "argv", ["dashboard", *words])
        app = AppTest.from_file(SCRIPT, default_timeout=60)
        app.query_params.update(address or {})
        app.run()
        # `switch_page` knows files only; ours are functions, found by their address
        addresses = {p["url_pathname"]: key for key, p in app._registered_pages.items()}
        app._page_hash = addresses["" if page == "overview" else page]
        return settled(app, answers)

    return run


@pytest.fixture
def settle(answers: Answers) -> Callable[[AppTest], AppTest]:
    """`settle(app)` after a click: the page, once what it asked has been answered."""
    return lambda app: settled(app, answers)


def settled(app: AppTest, answers: Answers) -> AppTest:
    """The app after everything that it asked has been answered."""
    for _ in range(5):
        app.run()
        answers.workshop.settle()
    return app.run()


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """A real browser. In CI one that is missing is a failure.

    Playwright keeps an event loop running while it is there, which other modules' tests must not
    find: so it ends with the module.
    """
    path = dashboard_server.chromium()
    if path is None:
        if os.environ.get("CI"):
            pytest.fail("no chromium on the PATH: .ci/run installs it")
        pytest.skip("no chromium on the PATH")
    expect.set_options(timeout=_PATIENCE_MS)  # five seconds are few on a busy machine
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=path, args=list(dashboard_server.CHROMIUM_FLAGS)
        )
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The dashboard over the built-in example, one for all tests in a browser."""
    folder = tmp_path_factory.mktemp("served")
    with serving(folder, str(example_path()), "--as", "claude-opus-5") as served:
        yield served


@pytest.fixture
def visit(chromium: Browser, server: Server) -> Iterator[Visit]:
    """`visit("sql")`: that page in a tab of its own, once it stands still; `settle` waits again.

    The example is open under claude-opus-5; `visit("misses?as=log")` says otherwise.
    """
    with chromium.new_context(viewport={"width": 1280, "height": 800}) as context:
        context.set_default_timeout(_PATIENCE_MS)

        def open_page(address: str = "") -> Page:
            page = context.new_page()
            page.goto(f"{server.url}/{address}")
            settle_page(page)
            return page

        yield open_page
